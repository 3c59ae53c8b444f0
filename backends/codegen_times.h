// The passes of the code generator that the platforms share (LLVM), for --time-passes. Without
// LLVM there are none.
#pragma once

#include <string>

namespace hlo {

// From now on they are measured, in the whole process. To be called before the first compilation.
void MeasureCodegenPasses();
// A table, the longest first and the short ones together; "" when there are none. Their time on all
// threads is part of the step `llvm`.
std::string CodegenPassTable();

}  // namespace hlo
