"""What runs for one client: its folders, jobs in worker threads, watches, test runs and notices."""
