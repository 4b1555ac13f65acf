#!/bin/bash
# e2e.sh - runs moesim as a user does: results, messages, exit statuses, files, determinism.
#
#   tests/e2e.sh MOESIM SOURCE_FOLDER
#
# Prints a line per test and a sum at the end; exit status 1 if a test failed.
set -u
moesim=$(realpath "$1") || exit 2
source=$(realpath "$2") || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
n_passed=0
n_failed=0
python=
python3 -c '' 2>/dev/null && python=python3

pass()
{
    echo "PASS $1"
    n_passed=$((n_passed + 1))
}

# fail NAME WHY
fail()
{
    echo "FAIL $1: $2"
    sed 's/^/    stderr: /' err 2>/dev/null | head -3
    n_failed=$((n_failed + 1))
}

# verdict NAME WHY COMMAND...: passes if COMMAND does.
verdict()
{
    local name=$1 why=$2
    shift 2
    if "$@" >/dev/null 2>&1; then pass "$name"; else fail "$name" "$why"; fi
}

# clean_err: takes from err what AddressSanitizer notes, in a build with it, on SimGrid's own stacks. Its
# reports stay.
clean_err()
{
    sed -i -e '/ASan is ignoring requested __asan_handle_no_return/d' \
        -e '/^False positive error reports may follow$/d' \
        -e '/^For details see .*sanitizers\/issues\/189$/d' err
}

# run ARGUMENT...: into out, err and status.
run()
{
    "$moesim" "$@" >out 2>err
    status=$?
    clean_err
}

# gives NAME PATTERN ARGUMENT...: exit 0, nothing on stderr, stdout matches.
gives()
{
    local name=$1 pattern=$2
    shift 2
    run "$@"
    if [ $status -ne 0 ]; then
        fail "$name" "exit status $status"
    elif [ -s err ]; then
        fail "$name" "there is something on stderr"
    elif ! grep -q -e "$pattern" out; then
        fail "$name" "stdout lacks '$pattern'"
    else
        pass "$name"
    fi
}

# refuses NAME PATTERN ARGUMENT...: exit 2, nothing on stdout, one line on stderr that matches.
refuses()
{
    local name=$1 pattern=$2
    shift 2
    run "$@"
    if [ $status -ne 2 ]; then
        fail "$name" "exit status $status, not 2"
    elif [ -s out ]; then
        fail "$name" "there is something on stdout"
    elif [ "$(wc -l <err)" -ne 1 ]; then
        fail "$name" "$(wc -l <err) lines on stderr, not 1"
    elif ! grep -q -e "$pattern" err; then
        fail "$name" "stderr lacks '$pattern'"
    else
        pass "$name"
    fi
}

# is_json FILE: parses it if there is a parser, else looks at its ends.
is_json()
{
    if [ -n "$python" ]; then
        $python -m json.tool "$1" /dev/null
    else
        head -c 1 "$1" | grep -q '[[{]' && tail -c 3 "$1" | grep -q '[]}]'
    fi
}

# npy FILE DESCR SHAPE VALUE...: a little-endian file of 4-byte values given as integers.
npy()
{
    local file=$1 header value i
    header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
    shift 3
    printf '\x93NUMPY\x01\x00\x76\x00' >"$file"
    printf '%-117s\n' "$header" >>"$file"
    for value in "$@"; do
        for i in 0 8 16 24; do
            printf '%b' "\\x$(printf '%02x' $((value >> i & 255)))" >>"$file"
        done
    done
}

test_commands()
{
    gives version 'GPL-3.0-or-later' --version
    gives version_backends 'openblas' --version
    gives help 'Commands:' --help
    gives help_command '--tensor-model-parallel-size' help predict
    gives help_option 'Usage: moesim predict' predict --help
    gives topology_list '^gb300_nvl72' topology list
    gives topology_show 'nvlink_bandwidth' topology show gb200_nvl72
    gives topology_check 'ok' topology check "$source/topologies/h800.yaml"
    gives model_list '^deepseek-v3' model list
    gives model_show '671' model show deepseek-v3
    gives model_show_json '"total_params": 671026419200' model show deepseek-v3 --format json
    verdict model_show_json_parses 'no JSON' is_json out
    gives completion '^--gpus' help --options predict
    verdict man_page_is_there 'docs/moesim.1 lacks the exit status' \
        grep -q 'EXIT STATUS' "$source/docs/moesim.1"
    refuses unknown_command "did you mean 'predict'" predcit
    refuses command_of_the_future 'known commands' replay trace.npy
}

test_defaults()
{
    gives defaults 'step time' --topology gb300_nvl72 --gpus 1024
    verdict defaults_within_80_columns 'a line is longer' sh -c '! grep -q -E ".{81}" out'
    cp out first
    gives predict_is_the_default_command 'step time' predict --topology gb300_nvl72 --gpus 1024
    verdict twice_the_same 'two runs differ' cmp out first
    env LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 TZ=Asia/Tokyo \
        "$moesim" --topology gb300_nvl72 --gpus 1024 >out 2>err
    verdict same_in_another_locale 'the output depends on the environment' cmp out first
    gives megatron_spelling 'step time' --topology gb300_nvl72 --world-size=1024
    verdict megatron_spelling_is_the_same 'it differs' cmp out first
    verdict no_path_in_output 'it names a folder of this machine' \
        sh -c "! grep -q -F -e '$source' -e '$work' first"
}

check_keys()
{
    local key
    for key in topology gpus model config fidelity step_time_s step_time_interval_s \
        tokens_per_s_per_gpu model_tflops_per_gpu hardware_tflops_per_gpu mfu gflop_per_token \
        flop_convention bubble_fraction breakdown_s exposed_comm_s hidden_comm_s memory routing \
        traffic scaling warnings extrapolated assumptions attention expert_gemm dispatch combine \
        tp_comm cp_comm pp_comm dp_comm bubble other capacity_bytes peak_bytes fits parts; do
        grep -q "\"$key\":" "$1" || return 1
    done
}

check_sums()
{
    [ -n "$python" ] || return 0
    $python - "$1" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))
low, high = p["step_time_interval_s"]
assert abs(sum(p["breakdown_s"].values()) / p["step_time_s"] - 1) < 1e-6
assert abs(sum(p["memory"]["parts"].values()) / p["memory"]["peak_bytes"] - 1) < 1e-6
assert 0 < low < p["step_time_s"] < high
assert p["config"]["ep"] == 1 or p["traffic"]["nvlink"] + p["traffic"]["scale_out"] > 0
tokens = p["config"]["gbs"] * p["config"]["seq-len"]
assert abs(tokens / p["step_time_s"] / p["gpus"] / p["tokens_per_s_per_gpu"] - 1) < 1e-6
END
}

test_formats()
{
    gives json '"step_time_s"' --format json
    verdict json_parses 'no JSON' is_json out
    verdict json_keys 'a key is missing' check_keys out
    verdict json_sums 'parts do not add up' check_sums out
    gives csv '^topology,' --format csv
    verdict csv_lines "$(wc -l <out) lines, not 2" test "$(wc -l <out)" -eq 2
    gives scaling 'Weak scaling' --scaling 64,128,256,512,1024
    verdict scaling_has_5_rows 'another number of rows' test \
        "$(grep -c -E '^ +(64|128|256|512|1024) .*[0-9]$' out)" -eq 5
    for what in layout traffic ops platform; do
        gives dump_$what . --dump $what
    done
    gives another_system_and_model 'allgather' \
        --model qwen3-30b --topology gb200_nvl72 --gpus 64 --dispatcher allgather
    gives no_overlap 'overlap none' --overlap none
}

test_configuration()
{
    gives print_config '^ep: ' --print-config
    cp out run.yaml
    gives fed_back '^ep: ' --recipe run.yaml --print-config
    verdict fed_back_is_equal 'settings changed' cmp out run.yaml
    gives fed_back_json step_time_s --recipe run.yaml --format json
    grep -v -e '^    "' out | grep -e _s -e mfu >first
    gives plain_json step_time_s --format json
    grep -v -e '^    "' out | grep -e _s -e mfu >second
    verdict fed_back_predicts_the_same 'other numbers' cmp first second
    gives command_line_wins '^gpus: 512' --recipe run.yaml --gpus 512 --gbs 8192 --print-config
}

test_memory_verdict()
{
    local tight="--model deepseek-v3 --topology hgx_h100 --gpus 64 --ep 8 --pp 1 --tp 1"
    # shellcheck disable=SC2086
    run $tight
    if [ $status -eq 1 ] && grep -q 'DOES NOT FIT' out && grep -q 'does not fit' err; then
        pass does_not_fit
    else
        fail does_not_fit "exit status $status, or nothing is said"
    fi
    verdict does_not_fit_in_one_line 'several lines on stderr' test "$(wc -l <err)" -eq 1
    # shellcheck disable=SC2086
    run $tight --quiet --format json
    verdict does_not_fit_quietly 'it is not quiet' \
        sh -c "[ $status -eq 1 ] && [ ! -s err ] && grep -q '\"fits\": false' out"
}

test_options_refused()
{
    refuses gpus_0 '--gpus' --gpus 0
    refuses gpus_too_many '--gpus.*1048576' --gpus 1000000000
    refuses gpus_no_number "'8x' is not an integer" --gpus 8x
    refuses ep_does_not_divide '--ep.*nearest' --ep 3
    refuses gbs_does_not_divide '--gbs.*nearest' --gbs 12345
    refuses tp_does_not_divide '--' --tp 7
    refuses option_unknown "did you mean '--precision'" --precison bf16
    refuses option_without_value 'value must follow' --gpus
    refuses option_short 'no short options' -g 8
    refuses argument 'one argument too many' predict 1024
    refuses name_unknown 'bf16' --precision fp7
    refuses model_unknown 'deepseek-v3' --model deepsek-v3
    refuses topology_unknown "did you mean 'gb300_nvl72'" --topology gb300_nvl73
    refuses units_as_count "'450GBps' is not an integer" --gpus 450GBps
    refuses trace_unknown 'no_such' --trace no_such.npy
    refuses dirichlet_negative '--trace\|dirichlet' --trace dirichlet:-1
    refuses recipe_missing 'none.yaml' --recipe none.yaml
}

# topology NAME PATTERN SED_SCRIPT: a changed copy of a built-in system is refused at its line.
topology()
{
    sed "$3" "$source/topologies/gb300_nvl72.yaml" >"$1.yaml"
    refuses "$1" "$2" --topology ./"$1.yaml"
    refuses "$1_checked" "$2" topology check ./"$1.yaml"
}

test_files_refused()
{
    topology bandwidth_negative 'bandwidth_negative.yaml:[0-9]*:.*negative' \
        '/nvlink_bandwidth:/,/source/s/\(measured\|derived\|datasheet\|unverified\): */&-/'
    topology count_with_unit 'count_with_unit.yaml:[0-9]*:.*450GBps' \
        's/sm_count:.*/sm_count: 450GBps/'
    topology key_missing 'key_missing.yaml.*sm_count' '/sm_count:/d'
    topology key_unknown "key_unknown.yaml:[0-9]*:.*unknown key.*sm_count" 's/sm_count:/sm_cuont:/'
    topology unit_missing 'unit_missing.yaml:[0-9]*:.*unit' \
        '/nvlink_bandwidth:/,/source/s/\(measured\|derived\|datasheet\|unverified\):.*/\1: 900/'
    printf 'gpus: 64\nfidelty: step\n' >bad.yaml
    refuses recipe_key_unknown "bad.yaml:2:fidelty.*did you mean 'fidelity'" --recipe bad.yaml
    printf 'gpus: 64\nep: eight\n' >bad.yaml
    refuses recipe_value "bad.yaml:2:ep.*'eight' is not an integer" --recipe bad.yaml
    printf 'gpus: [64\n' >bad.yaml
    refuses recipe_no_yaml 'bad.yaml' --recipe bad.yaml
    printf '{"hidden_size": 7' >config.json
    refuses config_no_json 'config.json' --model ./config.json
    refuses recipe_is_a_folder 'not a regular file' --recipe .
}

test_traces()
{
    local ids=(0 1 2 3 4 5 6 7 8 20 40 60 80 100 120 127)
    local small=(--model qwen3-30b --gpus 16 --ep 8)
    npy good.npy '<i4' '2, 8' "${ids[@]}"
    gives trace_good 'step time' "${small[@]}" --trace good.npy
    head -c 170 good.npy >short.npy
    refuses trace_truncated 'short.npy' "${small[@]}" --trace short.npy
    npy float.npy '<f4' '2, 8' "${ids[@]}"
    refuses trace_of_floats 'float.npy' "${small[@]}" --trace float.npy
    npy range.npy '<i4' '2, 8' "${ids[@]:0:15}" 128
    refuses trace_out_of_range 'range.npy.*128' "${small[@]}" --trace range.npy
    npy topk.npy '<i4' '4, 4' "${ids[@]}"
    refuses trace_of_other_topk 'topk.npy' "${small[@]}" --trace topk.npy
    dd if=/dev/zero of=zeros.npy bs=256 count=1 2>/dev/null
    refuses trace_no_npy 'zeros.npy' "${small[@]}" --trace zeros.npy
}

test_output_files()
{
    gives timeline 'step time' --timeline step.json
    verdict timeline_is_json 'no JSON' is_json step.json
    verdict timeline_has_events 'no events' grep -q '"ph"' step.json
    cp step.json old.json
    refuses timeline_in_no_folder 'none/step.json' --timeline none/step.json
    refuses timeline_is_a_folder 'not a regular file' --timeline .
    refuses timeline_unwritable 'cannot write' --timeline /proc/moesim.json
    refuses timeline_not_written_on_error '--ep' --timeline step.json --ep 3
    verdict old_timeline_is_left 'it was changed' cmp step.json old.json
    verdict no_temporary_file_is_left "left: $(echo step.json.*)" sh -c '! ls step.json.* none*'
    if [ -w /dev/full ]; then
        "$moesim" >/dev/full 2>err
        status=$?
        clean_err
        verdict stdout_full "exit status $status, or not one message" \
            test $status -eq 3 -a "$(wc -l <err)" -eq 1
    fi
    "$moesim" --dump ops 2>err | head -n 1 >out
    clean_err
    verdict reader_goes_away 'it complains' test ! -s err
}

# seconds COMMAND...: how long it takes, to the millisecond.
seconds()
{
    local start=${EPOCHREALTIME/[.,]/}
    "$@" >out 2>err
    local end=${EPOCHREALTIME/[.,]/}
    echo $(((end - start) / 1000))
}

test_limits()
{
    local ms kib
    ms=$(seconds "$moesim" --topology gb300_nvl72 --gpus 1024)
    verdict main_command_within_30_s "it took $ms ms" test "$ms" -lt 30000
    ms=$(seconds "$moesim" --topology gb300_nvl72 --gpus 1024 --fidelity estimate)
    verdict estimate_within_1_s "it took $ms ms" test "$ms" -lt 1000
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f %M -o kib "$moesim" --topology gb300_nvl72 --gpus 1024 >out 2>err
        kib=$(tail -n 1 kib)
    else
        kib=0
        (ulimit -v 1048576 && exec "$moesim" --topology gb300_nvl72 --gpus 1024) >out 2>err ||
            kib=1048577
    fi
    verdict main_command_within_1_GiB "it took $kib KiB" test "$kib" -le 1048576
}

test_commands
test_defaults
test_formats
test_configuration
test_memory_verdict
test_options_refused
test_files_refused
test_traces
test_output_files
test_limits
echo "[==========] e2e: $n_passed passed, $n_failed failed"
[ $n_failed -eq 0 ]
