"""A store that forgets everything when its process ends: for tests, and to say in few lines what a store is."""
