# Sourced by postBuild and start. Kernels are compiled for any CPU of the family, because the
# machine that builds the image is not the one that runs it; and into a folder that is writable.
export NUMBA_CACHE_DIR="$HOME/.cache/numba"
export NUMBA_CPU_NAME=generic
