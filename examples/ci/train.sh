#!/usr/bin/env bash
# A step of a pipeline (GitHub Actions, GitLab, Jenkins): train on Fairwatt, fail if the training
# fails, and leave the bill in the summary. Needs FAIRWATT_URL and FAIRWATT_TOKEN as secrets.
#
#   - run: pip install fairwatt && examples/ci/train.sh job.yaml
set -euo pipefail

job_file=${1:?the job file}
summary=${GITHUB_STEP_SUMMARY:-/dev/stderr}
# The same commit of the same pipeline finds its job again instead of submitting a second one.
key=${GITHUB_RUN_ID:+ci-$GITHUB_RUN_ID-${GITHUB_RUN_ATTEMPT:-1}}

job=$(fairwatt submit "$job_file" ${key:+--key "$key"} --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
trap 'fairwatt cancel "$job" >&2' INT TERM

fairwatt logs --follow "$job"
state=$(fairwatt show "$job" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"]["state"])')
{
  echo "### Fairwatt job $job: $state"
  echo '```'
  fairwatt cost "$job"
  echo '```'
} >>"$summary"
[ "$state" = succeeded ]
