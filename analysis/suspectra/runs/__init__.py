"""What runs of tests tell, as values: experiments, observations, slices, paths, measured files."""
