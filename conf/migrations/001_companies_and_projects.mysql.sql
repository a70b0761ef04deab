-- The same as the other file of this name, where the benchmark's own dump may have been loaded before
-- (`rhaid db load`): what is there already is left as it is.

CREATE TABLE IF NOT EXISTS companies (
  id INTEGER NOT NULL PRIMARY KEY,
  api VARCHAR(255) NOT NULL UNIQUE,
  created_at DATETIME NULL,
  updated_at DATETIME NULL,
  name VARCHAR(255) NOT NULL
);

CREATE TABLE IF NOT EXISTS projects (
  id INTEGER NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  company_id INTEGER NOT NULL,
  created_at DATETIME NULL,
  updated_at DATETIME NULL,
  KEY index_projects_on_company_id (company_id),
  FOREIGN KEY (company_id) REFERENCES companies (id)
);

INSERT IGNORE INTO companies (id, api, created_at, updated_at, name) VALUES
  (1, '61c2339c1bc92bc48120b55513cd568b', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 1'),
  (2, 'bb27bc6b7330aaac63ac809df83311b8', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 2'),
  (3, 'e35402fa00728faf372abaf71623b7f4', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 3'),
  (4, 'bca4bf9d131ab311760c5b790c8568a5', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 4'),
  (5, '49886a1c018496abb9ba4bf592c08d36', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 5'),
  (6, '850eedd94a4d9a01962628faac7ace91', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 6'),
  (7, 'd036682c6ac91a41ac9eac064c02a43b', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 7'),
  (8, '77a767c39adc71fb241285309ff37ee5', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 8'),
  (9, '75e82d812630bf6d9371339f3e634801', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 9'),
  (10, 'b5125eeabadcd5b3e55a76694d2b62b8', '2014-02-08 16:54:50', '2014-02-08 16:54:50', 'Test Company 10');

INSERT IGNORE INTO projects (id, name, company_id, created_at, updated_at)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50)
SELECT (companies.id - 1) * 50 + n, CONCAT('Project ', n, ' for company ', companies.id), companies.id,
  '2014-02-08 16:54:50', '2014-02-08 16:54:50'
FROM companies CROSS JOIN numbers
WHERE companies.id <= 10;
