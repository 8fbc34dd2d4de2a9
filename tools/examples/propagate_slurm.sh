#!/usr/bin/env bash
# tools/examples/propagate_slurm.sh - a propagation as an array of Slurm jobs, and one job that joins their tiles.
#
#   tools/examples/propagate_slurm.sh STORE JOBS [OPTIONS OF `unweave propagate` ...]
#
# The store lies on a file system that all nodes see. Options of sbatch, such as memory and time limits, come from its
# environment variables (SBATCH_...), or from ARRAY_OPTIONS, which is split at spaces. A job that fails or is killed is
# put back by `scontrol requeue JOB`; the job that joins waits until all have gone well. Prints the number of that job.
set -euo pipefail
if [[ $# -lt 2 ]]; then
  sed -n '2,8s/^# \?//p' "$0" >&2
  exit 1
fi
store=$(realpath "$1")
jobs=$2
shift 2
command=$(printf ' %q' unweave propagate "$store" --quiet "$@")

# shellcheck disable=SC2086
array=$(sbatch --parsable --requeue --job-name=tiles --array=0-$((jobs - 1)) ${ARRAY_OPTIONS:-} \
  --wrap="exec$command --tile \$SLURM_ARRAY_TASK_ID/$jobs")
# shellcheck disable=SC2086
sbatch --parsable --job-name=assemble --dependency=afterok:"${array%%;*}" ${ARRAY_OPTIONS:-} --wrap="exec$command --assemble"
