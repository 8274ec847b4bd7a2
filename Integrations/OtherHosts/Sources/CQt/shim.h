// Empty: Swift imports nothing of Qt.
