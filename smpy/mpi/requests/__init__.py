"""Operations under way: requests, their completion, and the status of their messages."""
