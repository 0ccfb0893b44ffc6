-- The balance of every account on one day, in cents.
SELECT account, sum(cents) AS balance_cents
FROM entries
WHERE day = :day
GROUP BY account
ORDER BY account;
