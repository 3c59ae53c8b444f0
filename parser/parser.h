// HLO text to modules, and fragments of HLO text to values.
//
// Accepts what XLA's parser accepts, with and without the optional parts (signatures, shapes that
// can be inferred, `%`, inline computations, nested operands, sugared async operations). What is
// wrong is reported with its place: up to `max_errors` messages per text, a broken instruction
// being skipped and its name remembered so that its uses are not reported again. No input makes the
// parser abort or overflow the stack.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/support/diagnostic.h"
#include "lib/types/literal.h"

namespace hlo {

struct ParserOptions {
  // Shapes without a layout get the row-major one.
  bool fill_missing_layouts = true;
  // Missing layouts of `entry_computation_layout` stay unset.
  bool keep_module_auto_layouts = false;
  // Nesting of operands, shapes, literals and inline computations.
  int max_recursion_depth = 500;
  int max_errors = 10;
  // Gets what was accepted but is not what the writer can have meant. Not touched after an error.
  std::vector<Diagnostic>* warnings = nullptr;
};

// The module keeps `source` alive (its places refer to it).
absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::shared_ptr<const Source> source,
                                                    const ParserOptions& options = {});
absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::string_view text,
                                                    std::string_view name = "<text>",
                                                    const ParserOptions& options = {});
// The same as a function of a text alone, for those who take one (lib/proto/proto.h).
inline constexpr auto kParseText = [](std::string_view text) { return ParseModule(text); };

// Fragments: values of attributes without the name in front. A fragment is the whole text. Places
// in errors are offsets into `text`.
absl::StatusOr<Shape> ParseShape(std::string_view text, const ParserOptions& options = {});
absl::StatusOr<Layout> ParseLayout(std::string_view text);  // "{1,0:T(8,128)}"
absl::StatusOr<Sharding> ParseSharding(std::string_view text);
absl::StatusOr<Window> ParseWindow(std::string_view text);  // "{size=3x3}" or "size=3x3"
absl::StatusOr<ConvDimNumbers> ParseConvolutionDimensionNumbers(std::string_view text);
absl::StatusOr<PaddingConfig> ParsePaddingConfig(std::string_view text);      // "0_1x2_3_1"
absl::StatusOr<ReplicaGroups> ParseReplicaGroups(std::string_view text);      // all three forms
absl::StatusOr<SliceRanges> ParseSliceRanges(std::string_view text);          // "{[0:4], [1:9:2]}"
absl::StatusOr<PrecisionConfig> ParsePrecisionConfig(std::string_view text);  // "{high,default}"
absl::StatusOr<ShapeIndex> ParseShapeIndex(std::string_view text);            // "{1,0}"
absl::StatusOr<OutputOperandAliases> ParseOutputOperandAliases(std::string_view text);
absl::StatusOr<OpMetadata> ParseMetadata(std::string_view text);  // "{op_name=\"x\"}"
absl::StatusOr<FrontendAttributes> ParseFrontendAttributes(std::string_view text);
absl::StatusOr<Statistics> ParseStatistics(std::string_view text);
absl::StatusOr<OriginalValue> ParseOriginalValue(std::string_view text);  // "{({\"a\"}, {})}"
absl::StatusOr<ResultAccuracy> ParseResultAccuracy(std::string_view text);
// "true" or "{true,false}"; "{}" is the empty list.
absl::StatusOr<std::vector<bool>> ParseBools(std::string_view text);
// The literal of a known shape: "{1, 2}".
absl::StatusOr<Literal> ParseLiteral(std::string_view text, Shape shape);
// A literal after its shape: "f32[2] {1, 2}", "(f32[], s32[2]) (1, {2, 3})".
absl::StatusOr<Literal> ParseLiteralWithShape(std::string_view text);

// One part of a file that holds several texts.
struct SplitPart {
  std::string_view text;
  int first_line = 1;  // line of the file at which the part starts
};
// Cuts `text` at lines that hold nothing but `// -----`.
std::vector<SplitPart> SplitInputFile(std::string_view text);

}  // namespace hlo
