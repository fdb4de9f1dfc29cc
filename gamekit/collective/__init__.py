"""Groups of ranks that measure collectives: started, given work, listened to, ended for certain."""
