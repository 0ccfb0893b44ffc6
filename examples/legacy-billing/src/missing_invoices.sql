-- The orders of one night that have no invoice.
SELECT orders.id
FROM orders
LEFT JOIN invoices ON invoices.order_id = orders.id
WHERE orders.night = :night AND invoices.id IS NULL
ORDER BY orders.id;
