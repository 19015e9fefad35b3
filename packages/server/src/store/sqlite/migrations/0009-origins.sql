-- Nothing limits recalls any more, so nothing counts them. The audit log has each of them.
DROP TABLE recall;
