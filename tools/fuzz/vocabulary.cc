#include "tools/fuzz/vocabulary.h"

#include <algorithm>
#include <array>

#include "lib/ops/attrs.h"
#include "lib/ops/enums.h"
#include "lib/ops/ops.h"
#include "lib/types/element_type.h"
#include "lib/types/reserved_words.h"

namespace hlo {
namespace {

// Attributes that every instruction may have, and those of the header.
constexpr std::string_view kCommonAttributes[] = {"metadata",
                                                  "sharding",
                                                  "backend_config",
                                                  "frontend_attributes",
                                                  "statistics",
                                                  "control-predecessors",
                                                  "origin",
                                                  "result_accuracy",
                                                  "op_name",
                                                  "op_type",
                                                  "source_file",
                                                  "source_line",
                                                  "stack_frame_id",
                                                  "size",
                                                  "stride",
                                                  "pad",
                                                  "lhs_dilate",
                                                  "rhs_dilate",
                                                  "rhs_reversal",
                                                  "is_scheduled",
                                                  "input_output_alias",
                                                  "buffer_donor",
                                                  "entry_computation_layout",
                                                  "replica_count",
                                                  "num_partitions",
                                                  "allow_spmd_sharding_propagation_to_parameters",
                                                  "allow_spmd_sharding_propagation_to_output",
                                                  "alias_passthrough_params",
                                                  "execution_thread",
                                                  "async_execution_thread",
                                                  "devices",
                                                  "visualizing_index",
                                                  "origin_recovery_table",
                                                  "debug_attributes",
                                                  "literal",
                                                  "to_apply",
                                                  "calls",
                                                  "condition",
                                                  "body",
                                                  "branch_computations",
                                                  "true_computation",
                                                  "false_computation",
                                                  "select",
                                                  "scatter",
                                                  "called_computations",
                                                  "custom_call_target",
                                                  "window",
                                                  "dim_labels",
                                                  "channel_id",
                                                  "replica_groups"};

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "7",
                                         "8",
                                         "16",
                                         "31",
                                         "32",
                                         "33",
                                         "63",
                                         "64",
                                         "65",
                                         "127",
                                         "128",
                                         "255",
                                         "256",
                                         "1023",
                                         "1024",
                                         "32768",
                                         "65535",
                                         "65536",
                                         "1048576",
                                         "1048577",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "1099511627776",
                                         "4611686018427387904",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "99999999999999999999999999",
                                         "-1",
                                         "-2",
                                         "-128",
                                         "-2147483648",
                                         "-2147483649",
                                         "-9223372036854775808",
                                         "-9223372036854775809",
                                         "1.5",
                                         "-0.0",
                                         "1e308",
                                         "1e309",
                                         "1e-320",
                                         "-1e40",
                                         "inf",
                                         "-inf",
                                         "nan",
                                         "-nan",
                                         "nan(0x1)",
                                         "nan(0xfffffffffffff)",
                                         "0x1",
                                         "1e",
                                         "00",
                                         "007",
                                         "1_2",
                                         "1_2_3",
                                         "-1_0_0",
                                         "1x2",
                                         "1x2x3x4",
                                         "0_0x1_1",
                                         "b01f_01io->b01f",
                                         "(1, 2)",
                                         "true",
                                         "false",
                                         "?",
                                         "<=8",
                                         "{...}"};

constexpr std::string_view kOthers[] = {"last_tile_dims",
                                        "mesh",
                                        "b",
                                        "parameter_replication",
                                        "must-alias",
                                        "may-alias",
                                        "async-start",
                                        "async-update",
                                        "async-done",
                                        "add-start",
                                        "add-done",
                                        "add-update",
                                        "custom-call-start",
                                        "fusion-start",
                                        "call-start",
                                        "all-reduce-start",
                                        "->",
                                        "...",
                                        "<=",
                                        "T",
                                        "S",
                                        "L",
                                        "E",
                                        "M",
                                        "SC",
                                        "D",
                                        "/*",
                                        "*/",
                                        "//",
                                        "\"",
                                        "\\",
                                        "'",
                                        "%",
                                        "#",
                                        "@",
                                        "\xEF\xBB\xBF",
                                        "\r\n"};

template <class A>
void AddAttributes(std::vector<std::string>& words) {
  ForEachField<A>([&](const auto& field) { words.emplace_back(field.name); });
}

struct Vocabulary {
  std::array<std::vector<std::string>, 5> words;

  std::vector<std::string>& of(WordKind kind) { return words[static_cast<size_t>(kind)]; }
  Vocabulary() {
    auto& attributes = of(WordKind::kAttribute);
    attributes.assign(std::begin(kCommonAttributes), std::end(kCommonAttributes));
    for (const OpInfo& info : AllOpInfos()) of(WordKind::kOpcode).emplace_back(info.text);
#define HLO_OP(Name, text, operands, calls, attrs, ...) AddAttributes<attrs>(attributes);
#include "lib/ops/ops.def"
#define HLO_TYPE(Name, text, bits, class, proto, native) of(WordKind::kType).emplace_back(text);
#include "lib/types/element_types.def"
    of(WordKind::kNumber).assign(std::begin(kNumbers), std::end(kNumbers));
    of(WordKind::kOther).assign(std::begin(kOthers), std::end(kOthers));
    for (const std::string_view word : kReservedWords) of(WordKind::kOther).emplace_back(word);
    for (auto& list : words) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
};

Vocabulary& TheVocabulary() {
  static Vocabulary vocabulary;
  return vocabulary;
}

}  // namespace

const std::vector<std::string>& Words(WordKind kind) { return TheVocabulary().of(kind); }

WordKind KindOf(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')))
    return WordKind::kNumber;
  for (const WordKind kind : {WordKind::kOpcode, WordKind::kType, WordKind::kAttribute}) {
    const auto& words = Words(kind);
    if (std::binary_search(words.begin(), words.end(), text)) return kind;
  }
  return WordKind::kOther;
}

}  // namespace hlo
