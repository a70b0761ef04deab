-- What is known of some images, and how often each was asked for. PostgreSQL has no DATETIME.

CREATE TABLE images (
  _id VARCHAR(36) NOT NULL PRIMARY KEY,
  name VARCHAR(45) NOT NULL,
  access VARCHAR(45) NOT NULL,
  type VARCHAR(45),
  format VARCHAR(45),
  owner VARCHAR(45),
  status VARCHAR(45),
  size INT,
  created_at TIMESTAMP,
  accessed_at TIMESTAMP,
  access_count INT DEFAULT 0,
  checksum VARCHAR(255),
  others VARCHAR(255)
);

INSERT INTO images (_id, name, access, type, format, owner, status, size, created_at, accessed_at, access_count, checksum, others) VALUES
  ('13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f', 'hihi', 'public', 'picture', 'png', 'someone', 'locked', 1024, '2012-01-06 22:11:15', '2012-01-07 13:14:15', 1000, NULL, NULL),
  ('5b0c1f3e-7a52-4d0b-9f0a-2f6f3c1d8e47', 'sunrise', 'public', 'picture', 'jpg', 'someone', 'available', 204800, '2012-02-11 06:41:07', '2012-02-12 09:30:00', 12, NULL, NULL),
  ('8d7e6a90-41cf-4c58-8b63-c0a5d2e9f714', 'logo', 'public', 'icon', 'svg', 'somebody', 'available', 2310, '2012-03-01 12:00:00', NULL, 0, NULL, 'scales'),
  ('c2f4b7d8-9e13-4b6a-a7c5-1d08e3f6b925', 'passport', 'private', 'picture', 'png', 'somebody', 'locked', 734003, '2012-03-14 15:09:26', '2012-06-28 03:18:53', 3, NULL, NULL),
  ('f19a3c05-6b8d-4e72-b4d1-7e5a0c92d836', 'map', 'private', 'picture', 'tiff', NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL);
