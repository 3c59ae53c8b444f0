#!/usr/bin/env bash
# Checks the GPU platform on a machine with a GPU.
#   scripts/gpu_check.sh pack [BUILD] [FILE.tar.gz]   here: the programs and the cases in one archive
#   scripts/gpu_check.sh run [OUT]                    there, inside the unpacked archive: stages, each with its JSON in OUT
# HLO_GPU_PLATFORM=gpu-sim HLO_GPU_SCALE=0.0001 runs the same stages, small, where there is no GPU.
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
  cp -r testdata/corpus testdata/ops testdata/run "$folder/gpu_check/testdata/"
  cp testdata/gpu/*.hlo "$folder/gpu_check/testdata/gpu/" 2>/dev/null || true
  mkdir "$folder/gpu_check/testdata/models"
  cp testdata/models/*.hlo testdata/models/*.json "$folder/gpu_check/testdata/models/"
  git rev-parse HEAD > "$folder/gpu_check/commit"
  tar -C "$folder" -czf "$file" gpu_check
  echo "$file: $(du -h "$file" | cut -f1)"
}

# stage NAME SECONDS COMMAND...: runs it, writes OUT/NAME.log and OUT/NAME.json. All stages together end within BUDGET
# seconds: what comes late has less time, or none.
BUDGET=465
PLATFORM=${HLO_GPU_PLATFORM:-gpu} SCALE=${HLO_GPU_SCALE:-1}
stage() {
  local name=$1 limit=$2 start code=0 closing left=$((BUDGET - SECONDS))
  shift 2
  if [ "$left" -lt 5 ]; then
    printf '{"stage": "%s", "commit": "%s", "skipped": "no time left"}\n' "$name" "$(cat commit)" > "$OUT/$name.json"
    return
  fi
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  start=$(date +%s.%N)
  timeout "$limit" "$@" > "$OUT/$name.log" 2>&1 || code=$?
  closing=$(tail -n 1 "$OUT/$name.log" | tr -d '"\\' | tr '\t' ' ')
  printf '{"stage": "%s", "date": "%s", "device": "%s", "commit": "%s", "code": %d, "seconds": %.2f, "closing": "%s"}\n' \
    "$name" "$(date -u +%FT%TZ)" "$DEVICE" "$(cat commit)" "$code" "$(awk "BEGIN { print $(date +%s.%N) - $start }")" "$closing" > "$OUT/$name.json"
  cat "$OUT/$name.json"
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

run() {
  cd "$(dirname "$0")"
  export OUT=${1:-out} LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  DEVICE=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
  DEVICE=${DEVICE:-none}
  export PLATFORM
  export -f twice corpus_twice
  mkdir -p "$OUT"
  SECONDS=0
  stage environment 20 bash -c './hlo-run --doctor; nvidia-smi || true'
  stage operations 60 ./hlo-run --check-file --platforms=$PLATFORM testdata/ops/*.hlo testdata/run/*.hlo
  stage corpus 60 ./hlo-run --check-models testdata/corpus --platforms=$PLATFORM --time-limit=20
  stage models 60 ./hlo-run --check-models testdata/models --platforms=$PLATFORM --time-limit=60
  # Cases of these five are in OUT/NAME.cases.json.
  stage bandwidth 60 ./gpu_measure.py bandwidth "$OUT/bandwidth.cases.json" --platform=$PLATFORM --scale=$SCALE
  stage gemm 50 ./gpu_measure.py gemm "$OUT/gemm.cases.json" --platform=$PLATFORM --scale=$SCALE
  stage launch 30 ./gpu_measure.py launch "$OUT/launch.cases.json" --platform=$PLATFORM --scale=$SCALE
  stage programs 60 ./gpu_measure.py models "$OUT/programs.cases.json" --platform=$PLATFORM
  stage jax 80 ./gpu_measure.py jax "$OUT/jax.cases.json" --scale=$SCALE
  stage determinism 50 bash -c "corpus_twice $PLATFORM $PLATFORM"
  stage simulator 60 bash -c "corpus_twice $PLATFORM gpu-sim"
}

case "${1:-}" in
  pack) shift; pack "$@" ;;
  run) shift; run "$@" ;;
  *) echo "usage: scripts/gpu_check.sh pack [BUILD] [FILE] | run [OUT]" >&2; exit 2 ;;
esac
