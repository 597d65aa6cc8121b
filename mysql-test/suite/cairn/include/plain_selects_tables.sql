-- The tables of plain_selects.sql.
CREATE TABLE t1 (id INT PRIMARY KEY, b INT, c BIGINT UNSIGNED NOT NULL, v VARCHAR(20), UNIQUE KEY bc (b, c));
INSERT INTO t1 SELECT seq, IF(seq % 7 = 0, NULL, seq % 10), seq * 3, CONCAT('v', seq) FROM seq_1_to_100;
CREATE TABLE t2 (a INT PRIMARY KEY, b SMALLINT, c TINYINT NOT NULL, d INT, KEY bca (b, c, a), KEY d (d));
INSERT INTO t2 SELECT seq, IF(seq % 9 = 8, NULL, seq % 9), seq % 4, seq % 30 FROM seq_1_to_200;
CREATE TABLE t3 (p INT, q BIGINT, r INT UNSIGNED, s VARCHAR(10), PRIMARY KEY (p, q, r));
INSERT INTO t3 SELECT seq % 4, seq % 9, seq % 7, IF(seq % 2, 'x', NULL) FROM seq_1_to_100 ON DUPLICATE KEY UPDATE s = s;
CREATE TABLE edges (id INT PRIMARY KEY, ti TINYINT, utiny TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, umi MEDIUMINT UNSIGNED, i INT, bi BIGINT, ubi BIGINT UNSIGNED,
  y YEAR, bits BIT(8), b BOOL, KEY ti (ti), KEY utiny (utiny), KEY si (si), KEY mi (mi), KEY umi (umi), KEY i (i), KEY bi (bi), KEY ubi (ubi), KEY y (y), KEY bits (bits), KEY b (b));
INSERT INTO edges VALUES
  (1, -128, 0, -32768, -8388608, 0, -2147483648, -9223372036854775808, 0, 1901, 0, 0),
  (2, 127, 255, 32767, 8388607, 16777215, 2147483647, 9223372036854775807, 18446744073709551615, 2155, 255, 1),
  (3, 0, 128, 0, 0, 8388608, 0, 0, 9223372036854775808, 1999, 5, 5),
  (4, -1, 1, -1, -1, 1, -1, -1, 9223372036854775807, 2000, 1, 1),
  (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE descending (id INT PRIMARY KEY, a INT, b INT, KEY ab (a, b DESC));
INSERT INTO descending SELECT seq, seq % 5, seq % 8 FROM seq_1_to_40;
CREATE TABLE virtuals (id INT PRIMARY KEY, n INT, twice INT AS (n * 2) VIRTUAL, thrice INT AS (n * 3) VIRTUAL, KEY twice (twice));
INSERT INTO virtuals (id, n) SELECT seq, seq FROM seq_1_to_9;
CREATE TABLE long_keys (id INT PRIMARY KEY, n INT, t TEXT, UNIQUE KEY n (n, t));
INSERT INTO long_keys SELECT seq, seq, REPEAT('x', seq) FROM seq_1_to_9;
CREATE TABLE no_key (id INT, x INT, KEY x (x));
INSERT INTO no_key SELECT seq, seq FROM seq_1_to_9;
CREATE TABLE texts (k INT PRIMARY KEY, t TEXT, b BLOB, e ENUM('one', 'two'), d DECIMAL(10, 3), f DOUBLE, ts TIMESTAMP(3) NULL, tm TIME(2), j CHAR(9)) CHARSET utf8mb4;
INSERT INTO texts VALUES (1, 'ä', 'b', 'one', 1.5, 0.25, '2020-02-02 02:02:02.123', '12:13:14.15', 'x '), (2, REPEAT('long', 500), REPEAT('blob', 400), 'two', -1.5, -1e300, NULL, '-01:00:00', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SET sql_mode = '';
CREATE TABLE dates (id INT PRIMARY KEY, d DATE NOT NULL, n INT);
INSERT INTO dates VALUES (7, '0000-00-00', 1), (8, '2020-02-02', 2);
SET sql_mode = DEFAULT;
CREATE TABLE tp (id INT PRIMARY KEY, b INT) PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO tp SELECT seq, seq FROM seq_1_to_20;
CREATE TABLE ti (id INT PRIMARY KEY, b INT) ENGINE=MyISAM;
INSERT INTO ti SELECT seq, seq FROM seq_1_to_20;
CREATE VIEW v1 AS SELECT id FROM t1;
CREATE FUNCTION f1(x INT) RETURNS INT DETERMINISTIC RETURN x + 1;
DELIMITER |
CREATE PROCEDURE p1(x INT)
BEGIN
  SELECT * FROM t1 WHERE id = x;
  SELECT id FROM t1 WHERE id BETWEEN x AND x + 1;
  SELECT id FROM t1 WHERE id BETWEEN 7 AND 8;
END|
DELIMITER ;
ANALYZE TABLE t1, t2, t3, edges, descending, virtuals, no_key;
