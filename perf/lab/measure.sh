#!/usr/bin/env bash
# Measures one round of the lab's targets on a GPU host where sglang runs offline, and appends the
# findings: perf/lab/measure.sh ROUND, in the root of the knowledge base, with LAB_HOST (the short
# name of the host), and for the rounds of a real model MODEL and DRAFTER (folders).
#
# The 8B-shaped target has random weights: the GPU sets its pace, and its accept length is imposed.
# All engines of a round start side by side, and are measured in turn, request by request.
set -euo pipefail
round=${1:?usage: perf/lab/measure.sh ROUND}
host=${LAB_HOST:?LAB_HOST is the short name of this host}
gamekit=(python3 -m gamekit)

common="--attention-backend triton --sampling-backend pytorch --grammar-backend none \
  --mem-fraction-static 0.95 --max-total-tokens 16384 --cuda-graph-max-bs-decode 16 \
  --disable-radix-cache --random-seed 1 --enable-metrics"
engine="python3 -m sglang.launch_server $common"

# dense [flags]: the 8B-shaped target; eagle STEPS LENGTH [flags]: with EAGLE-3 at that length
dense() { echo "$engine --model-path perf/lab/llama-8b --load-format dummy --skip-tokenizer-init $*"; }
eagle() {
  local steps=$1 length=$2; shift 2
  echo "SGLANG_SIMULATE_ACC_LEN=$length $(dense "$@") $(speculating perf/lab/llama-8b-eagle3 "$steps")" \
    "--speculative-draft-load-format dummy"
}
moe() { echo "$engine --model-path perf/lab/moe-16b --load-format dummy --skip-tokenizer-init $*"; }
moe_eagle() {
  local steps=$1 length=$2; shift 2
  echo "SGLANG_SIMULATE_ACC_LEN=$length $(moe "$@") $(speculating perf/lab/moe-16b-eagle3 "$steps")" \
    "--speculative-draft-load-format dummy"
}
speculating() {
  echo "--speculative-algorithm EAGLE3 --speculative-draft-model-path $1 --speculative-num-steps $2" \
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens $(($2 + 1))"
}

# measure BENCHMARKS SETTINGS COMMAND...
measure() {
  local benchmarks=$1 settings=$2; shift 2
  # Ports of our own: sglang derives further ones, 10000 higher.
  local launches=() port=31000
  for command in "$@"; do launches+=(--launch "$command --port $((port += 100))"); done
  # shellcheck disable=SC2086 # several words each
  "${gamekit[@]}" bench $benchmarks $settings "${launches[@]}" --subject "host=$host" --append
}
ids="--set input_ids=64 --set max_tokens=257 --set requests=${REQUESTS:-15} --set warmup=2"

# Of a decode step with 1 and 4 tokens of 4096, 4 of 7168, and up to the largest batches.
sizes=8192,16384,32768,57344,131072,262144,524288,1048576,4194304

# alone BENCHMARK [settings]: without an engine
alone() { "${gamekit[@]}" bench "$@" --subject "host=$host" --append; }

case $round in
  lengths)  # what a cycle costs, whatever comes out of it; graphs on and off
    measure serving_decode "$ids" "$(dense)" "$(dense --disable-cuda-graph)" \
      "$(eagle 3 1)" "$(eagle 3 2)" "$(eagle 3 3)" "$(eagle 3 4)" ;;
  steps)  # what one step more costs
    measure serving_decode "$ids" "$(dense)" "$(eagle 3 2)" "$(eagle 1 2)" "$(eagle 2 2)" \
      "$(eagle 5 2)" ${EXTRA:+"$(eagle $EXTRA)"} ;;
  again)  # the third start of the baseline and of one chain
    measure serving_decode "$ids" "$(dense)" "$(eagle 3 2)" "$(eagle 3 2 --disable-cuda-graph)" ;;
  real)  # a real small model, once, with a drafter that knows nothing
    small="$engine --model-path $MODEL --served-model-name SmolLM2-135M-Instruct"
    measure serving_decode "--set max_tokens=257 --set requests=${REQUESTS:-15} --set warmup=2" \
      "$small" "$small $(speculating "$DRAFTER" 3)" ;;
  load)  # many requests at once, and the cycle by the engine's own clock
    measure "serving_load speculation_cycle" "--set input_ids=64 --set warmup=2 \
      --set concurrency=1,16" "$(eagle 3 2)" "$(eagle 3 3)" ;;
  concurrency)  # from how many requests at once on speculation no longer pays, at a length of 2 or 3
    engine="${engine/--max-total-tokens 16384/--max-total-tokens 81920 --max-running-requests 208}"
    # Of each size that is measured a graph, and few besides: all sizes up to 208 take minutes.
    engine="${engine/--cuda-graph-max-bs-decode 16/--cuda-graph-bs-decode 1 2 4 8 16 32 64 128 200 208 \
      --cuda-graph-bs-prefill 64 128 192 256 384 512 768 1024 1536 2048 3072 4096 8192}"
    measure serving_load "--set input_ids=64 --set max_tokens=65 --set warmup=2 --set duration=4 \
      --set ${LOAD:-concurrency=1,16,64,200}" "$(dense)" "$(eagle 3 "${LENGTH:-2}")" ;;
  ranks-cycle)  # the same for the cycle alone: six engines at once disturb each other's processors
    two="--tp {tp} --enforce-disable-flashinfer-allreduce-fusion --disable-custom-all-reduce"
    measure serving_decode "$ids --set tp=2 --set direct=0 --set host_memory=1 --set starts=2" \
      "NCCL_P2P_DISABLE={direct} $(eagle 3 2 "$two")" \
      "NCCL_P2P_DISABLE={host_memory} $(eagle 3 2 "$two")" ;;
  ranks)  # two GPUs: what the all-reduce adds to a forward, by its transport
    # Fused into flashinfer they would not be NCCL's, and might use NVLink multicast.
    two="--tp {tp} --enforce-disable-flashinfer-allreduce-fusion"
    nccl="$two --disable-custom-all-reduce"
    direct="NCCL_P2P_DISABLE={direct}" host_memory="NCCL_P2P_DISABLE={host_memory}"
    # As placeholders, so that the subjects of the runs tell them apart.
    measure serving_decode "$ids --set tp=2 --set direct=0 --set host_memory=1" \
      "$(dense "$two")" "$(eagle 3 2 "$two")" \
      "$direct $(dense "$nccl")" "$direct $(eagle 3 2 "$nccl")" \
      "$host_memory $(dense "$nccl")" "$host_memory $(eagle 3 2 "$nccl")" ;;
  machine)  # what bandwidth and arithmetic there is, and what a forward makes of it
    alone gpu_ceilings
    alone verify_cost --set shape=llama-8b
    alone verify_cost --set shape=deepseek-v3-slice --set layers=4
    alone verify_cost --set shape=deepseek-v3-slice --set layers=4 --set shards=8 ;;
  smoke)  # one rank: whether NCCL works at all
    alone nccl_allreduce --set ranks=1 --set bytes=32768 ;;
  allreduce)  # the settings that matter where GPUs do not reach each other's memory; the first of
    # the second call has no effect on one host, and shows what two starts differ by
    alone nccl_allreduce --set "bytes=$sizes,67108864" --set setting=none,NCCL_P2P_DISABLE=1
    alone nccl_allreduce --set bytes=8192,32768,57344,262144,1048576,4194304 --set mode=graph \
      --set "setting=NCCL_IB_DISABLE=1,NCCL_PROTO=LL,NCCL_PROTO=LL128,\
NCCL_PROTO=Simple,NCCL_ALGO=Tree,NCCL_MAX_NCHANNELS=1,NCCL_MIN_NCHANNELS=16,\
NCCL_P2P_DISABLE=1+NCCL_PROTO=LL,NCCL_P2P_DISABLE=1+NCCL_PROTO=Simple,\
NCCL_P2P_DISABLE=1+NCCL_MAX_NCHANNELS=1" ;;
  moe)  # the same questions for a mixture of experts
    measure serving_decode "$ids" "$(moe)" "$(moe_eagle 3 2)" "$(moe_eagle 3 3)" ;;
  *)
    echo "no round $round: lengths, steps, again, real, moe, load, concurrency, ranks, ranks-cycle," \
      "machine, smoke or allreduce" >&2; exit 2 ;;
esac
