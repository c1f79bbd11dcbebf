"""Short jobs, one after another: what a job costs that does nothing, here and under Slurm."""
