// Text of what instructions carry besides their attributes; shared by the instruction and the
// module printer.
#pragma once

#include <string>

#include "lib/ir/module_config.h"
#include "lib/ir/printer.h"

namespace hlo {

// `{a="x",b={"json":1}}`
void AppendFrontendAttributes(const FrontendAttributes& attributes, std::string& out);
// `{"name" {0,1}}`
void AppendOriginalArray(const OriginalArray& array, std::string& out);
// Everything that follows the called computations: sharding … backend_config.
void AppendExtras(const Instruction& instruction, const PrintOptions& options, std::string& out);
void AppendExtras(const Extras& extras, const Module& module, const PrintOptions& options,
                  std::string& out);
// A sharding that prints so that it reads back, in place of one whose text XLA does not read: what
// is alike on a whole mesh. The reduction stands in the metadata if these print.
Sharding ReadableSharding(Sharding sharding, bool with_metadata);
// Whether `text` is one JSON dict that XLA prints without quotes.
bool LooksLikeJsonDict(std::string_view text);
// JSON text with sorted keys and without blanks; other text unchanged.
std::string SortJson(std::string_view text);
// Everything of the header after the module's name, and the stack-frame sections.
void AppendModuleHeader(const Module& module, const PrintOptions& options, std::string& out);

}  // namespace hlo
