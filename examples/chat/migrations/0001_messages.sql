CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  room TEXT NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at TEXT NOT NULL
);
CREATE INDEX messages_by_room ON messages (room, id);
