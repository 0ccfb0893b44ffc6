"""An OAuth 2.1 resource server: tokens that an issuer of the company's made, believed by its keys."""
