"""Operations under way: requests, how they complete, and the messages they are about."""
