#!/usr/bin/env bash
# Checks the GPU platform on a machine with a GPU.
#   scripts/gpu_check.sh pack [BUILD] [FILE.tar.gz]   here: the programs and the cases in one archive
#   scripts/gpu_check.sh run [OUT [STAGE...]]         there, inside the unpacked archive: stages, the most useful first; after each
#                                                     of them OUT/results.tar.gz holds its log and JSON with those before
#   scripts/gpu_check.sh quick [OUT]                  there: those that say most, in less than two minutes
# HLO_GPU_PLATFORM=gpu-sim HLO_GPU_SCALE=0.0001 runs the same stages, small, where there is no GPU. HLO_GPU_BUDGET: seconds for all.
set -euo pipefail

pack() {
  cd "$(dirname "$0")/.."
  local build=${1:-build/release} file=${2:-build/gpu_check.tar.gz} folder
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  mkdir -p "$folder/gpu_check/lib" "$folder/gpu_check/testdata/gpu" "$(dirname "$file")"
  cp "$build/bin/hlo-run" scripts/gpu_check.sh scripts/gpu_measure.py "$folder/gpu_check/"
  strip "$folder/gpu_check/hlo-run"
  # Libraries that other machines need not have; glibc is theirs.
  ldd "$build/bin/hlo-run" | awk '/=> \//{print $3}' | grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' |
    xargs -I{} cp -L {} "$folder/gpu_check/lib/"
  cp -r testdata/bench testdata/corpus testdata/ops testdata/run "$folder/gpu_check/testdata/"
  cp testdata/gpu/*.hlo "$folder/gpu_check/testdata/gpu/" 2>/dev/null || true
  mkdir "$folder/gpu_check/testdata/models"
  cp testdata/models/*.hlo testdata/models/*.json "$folder/gpu_check/testdata/models/"
  git rev-parse HEAD > "$folder/gpu_check/commit"
  tar -C "$folder" -czf "$file" gpu_check
  echo "$file: $(du -h "$file" | cut -f1)"
}

# stage NAME SECONDS COMMAND...: runs it, writes WORK/NAME.log and WORK/NAME.json. All stages together end within BUDGET
# seconds: what comes late has less time, or none.
BUDGET=${HLO_GPU_BUDGET:-465} QUICK_BUDGET=${HLO_GPU_BUDGET:-115}
PLATFORM=${HLO_GPU_PLATFORM:-gpu} SCALE=${HLO_GPU_SCALE:-1}
stage() {
  local name=$1 limit=$2 start code=0 closing left=$((BUDGET - SECONDS))
  shift 2
  if [ "$left" -lt 5 ]; then
    printf '{"stage": "%s", "commit": "%s", "skipped": "no time left"}\n' "$name" "$(cat commit)" > "$WORK/$name.json"
    return
  fi
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  start=$(date +%s.%N)
  # In a shell of its own: the command may be a function.
  timeout "$limit" bash -c '"$@"' stage "$@" > "$WORK/$name.log" 2>&1 || code=$?
  closing=$(tail -n 1 "$WORK/$name.log" | tr -d '"\\' | tr '\t' ' ')
  printf '{"stage": "%s", "date": "%s", "device": "%s", "commit": "%s", "code": %d, "seconds": %.2f, "closing": "%s"}\n' \
    "$name" "$(date -u +%FT%TZ)" "$DEVICE" "$(cat commit)" "$code" "$(awk "BEGIN { print $(date +%s.%N) - $start }")" "$closing" > "$WORK/$name.json"
  cat "$WORK/$name.json"
}

# twice FILE PLATFORM PLATFORM: whether both give the same bytes: `same`, `differs` or `skipped`, and the file.
twice() {
  local a b
  a=$(timeout 20 ./hlo-run "$1" --platform="$2" --seed=1 --print=full 2>/dev/null) || { echo "skipped $1"; return; }
  b=$(timeout 20 ./hlo-run "$1" --platform="$3" --seed=1 --print=full 2>/dev/null) || { echo "skipped $1"; return; }
  if [ "$a" = "$b" ]; then echo "same $1"; else echo "differs $1"; fi
}

# All programs of the corpus by twice, several at the same time.
corpus_twice() {
  local lines
  lines=$(printf '%s\n' testdata/corpus/*.hlo | xargs -P "$(nproc)" -I{} bash -c "twice {} $1 $2")
  grep -v '^same' <<< "$lines" || true
  echo "$(grep -c '^same' <<< "$lines") passed, $(grep -c '^differs' <<< "$lines") failed, $(grep -c '^skipped' <<< "$lines") skipped"
  ! grep -q '^differs' <<< "$lines"
}

# A stage of gpu_measure.py; its cases are in WORK/NAME.cases.json.
measure() {
  stage "$1" "$2" ./gpu_measure.py "$1" "$WORK/$1.cases.json" --platform=$PLATFORM --scale=$SCALE
}

# The models, products and launches with a flag of hlo-run that is off by default; beside the stages without it.
measure_with() {
  stage "$1" 60 bash -c "for s in models gemm launch; do ./gpu_measure.py \$s \"$WORK/$1.\$s.cases.json\" --platform=$PLATFORM --scale=$SCALE --flags=$2; done"
}

# Small modules under compute-sanitizer, where there is one.
sanitizer() {
  local tool lines
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || { echo "no compute-sanitizer"; return; }
  lines=$(printf '%s\n' testdata/ops/*.hlo | awk 'NR % 4 == 1' | head -n 30 | xargs -P 8 -I{} sh -c \
    "timeout 50 $tool --error-exitcode 9 --target-processes all ./hlo-run --check-file --platforms=$PLATFORM --jobs=1 {} > \"$WORK/sanitizer.\$(basename {}).txt\" 2>&1; echo \"\$? {}\"")
  echo "$lines"
  for file in "$WORK"/sanitizer.*.txt; do grep -q 'ERROR SUMMARY: 0 errors' "$file" && rm -f "$file"; done
  echo "$(grep -c '^0 ' <<< "$lines") passed, $(grep -vc '^0 ' <<< "$lines") failed"
}

# One stage by its name.
do_stage() {
  case "$1" in
    environment) stage environment 20 bash -c './hlo-run --doctor; nvidia-smi || true; nproc; python3 --version' ;;
    operations) stage operations 60 ./hlo-run --check-file --platforms=$PLATFORM testdata/ops/*.hlo testdata/run/*.hlo ;;
    corpus) stage corpus 60 ./hlo-run --check-models testdata/corpus --platforms=$PLATFORM --time-limit=20 ;;
    programs) stage programs 60 ./hlo-run --check-models testdata/models --platforms=$PLATFORM --time-limit=60 ;;
    sanitizer) stage sanitizer 60 sanitizer ;;
    determinism) stage determinism 50 corpus_twice $PLATFORM $PLATFORM ;;
    simulator) stage simulator 60 corpus_twice $PLATFORM gpu-sim ;;
    bandwidth | gemm | launch | models) measure "$1" 60 ;;
    overlap) measure_with overlap --gpu-overlap ;;
    autotune) measure_with autotune --gpu-autotune ;;
    tf32) measure_with tf32 --gpu-tf32 ;;
    suite | jax | jax-suite) measure "$1" 120 ;;
  esac
}
STAGES="environment operations programs bandwidth gemm launch models overlap autotune tf32 jax corpus suite jax-suite sanitizer determinism simulator"
# Values first, then the times that change with the compiler.
QUICK_STAGES="environment operations programs launch models gemm bandwidth"

run() {
  OUT=$(realpath -m "${1:-out}")
  shift || true
  local name names=$*
  for name in $names; do
    case " $STAGES " in
      *" $name "*) ;;
      *) echo "gpu_check.sh: no stage $name; there are $STAGES" >&2; exit 2 ;;
    esac
  done
  cd "$(dirname "$0")"
  export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" WORK="$PWD/work" PLATFORM
  DEVICE=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
  DEVICE=${DEVICE:-none}
  mkdir -p "$OUT" "$WORK"
  export -f twice corpus_twice sanitizer
  SECONDS=0
  for name in ${names:-$STAGES}; do
    do_stage "$name"
    # What there is so far, whole at any moment.
    tar -C "$WORK" -czf "$OUT/results.part" . && mv "$OUT/results.part" "$OUT/results.tar.gz"
  done
}

case "${1:-}" in
  pack) shift; pack "$@" ;;
  run) shift; run "$@" ;;
  quick)
    if [ $# -gt 2 ]; then echo "gpu_check.sh: quick takes a folder and no stages; there is run for these" >&2; exit 2; fi
    BUDGET=$QUICK_BUDGET
    # shellcheck disable=SC2086
    run "${2:-out}" $QUICK_STAGES ;;
  *) echo "usage: scripts/gpu_check.sh pack [BUILD] [FILE] | run [OUT [STAGE...]] | quick [OUT]" >&2; exit 2 ;;
esac
