// Times of LLVM's own passes, for --time-passes. They are of the whole process: LLVM keeps them so.
// This header includes no LLVM header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

struct LlvmPassTime {
  std::string name;         // "x86-isel"
  double milliseconds = 0;  // of all modules, on all threads
};

// From now on LLVM measures its passes. To be called before the first compilation.
void MeasureLlvmPasses();
bool MeasuresLlvmPasses();
// What a pass of a manager of ours took. Any thread may call it.
void AddLlvmPassTime(std::string_view name, double milliseconds);

// The longest first, and nothing where nobody asked for them; forgets them.
std::vector<LlvmPassTime> TakeLlvmPassTimes();

}  // namespace hlo
