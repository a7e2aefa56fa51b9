#!/bin/sh
# own_folder.sh COMMAND...: runs COMMAND with a folder of its own for temporary files, which is removed at the end.
# Returns its exit status. For each mpirun in the tests: jobs of one user share the folder ompi.HOST.UID in TMPDIR, and
# the one that ends first removes it while another one makes its own folder below. expect.sh and hosts.sh do the same
# for what they start.

folder=$(mktemp -d "${TMPDIR:-/tmp}/job.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
TMPDIR=$folder OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder "$@"
