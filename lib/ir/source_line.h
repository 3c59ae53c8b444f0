// Where in its source program an instruction comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/ir/module.h"

namespace hlo {

// The place of a stack frame, by its 1-based number; null when there is none.
const StackFrames::Location* LocationOfFrame(const StackFrames& frames, int32_t frame);
// The file of a place; empty when it has none.
std::string_view FileOf(const StackFrames& frames, const StackFrames::Location& location);

// `model.py:12` by the metadata's file and line, else by the innermost of its stack frames; empty
// when nothing is known. Without a line only the file.
std::string SourceLineOf(const Instruction& instruction);

}  // namespace hlo
