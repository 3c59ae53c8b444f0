#include "backends/cpu/tile/program.h"

#include <fmt/core.h>

#include <algorithm>

namespace hlo::cpu::tile {
namespace {

template <class Fn>
void ForEachStep(const Steps& steps, const Fn& fn) {
  for (const Step& step : steps) {
    fn(step);
    for (const Steps& list : step.lists) ForEachStep(list, fn);
  }
}

void AppendSteps(const Steps& steps, int indent, std::string& out) {
  static constexpr const char* kWords[] = {"kernel", "copy", "while", "conditional"};
  const std::string blanks(static_cast<size_t>(indent) * 2, ' ');
  for (const Step& step : steps) {
    out += fmt::format("{}{} {}", blanks, kWords[static_cast<int>(step.kind)], step.name);
    if (!step.lists.empty()) out += ' ' + step.selector.ToString();
    for (const BufferSlice& slice : step.buffers) out += ' ' + slice.ToString();
    out += '\n';
    for (size_t i = 0; i < step.lists.size(); ++i) {
      out += blanks + (step.kind == Step::Kind::kWhile ? i == 0 ? "condition:\n" : "body:\n"
                                                       : fmt::format("branch {}:\n", i));
      AppendSteps(step.lists[i], indent + 1, out);
    }
  }
}

}  // namespace

int64_t Program::scratch_bytes() const {
  int64_t bytes = 0;
  ForEachStep(steps, [&](const Step& step) {
    if (step.kernel != nullptr) bytes = std::max(bytes, step.kernel->scratch_bytes);
  });
  return bytes;
}

int64_t Program::node_count() const {
  int64_t count = 0;
  ForEachStep(steps, [&](const Step& step) {
    if (step.kernel != nullptr) count += static_cast<int64_t>(step.kernel->nodes.size());
  });
  return count;
}

std::vector<std::string> Program::loop_names() const {
  std::vector<std::string> names;
  ForEachStep(steps, [&](const Step& step) {
    if (step.kind == Step::Kind::kWhile) names.push_back(step.name);
  });
  return names;
}

std::string Program::ToString(int indent) const {
  std::string out;
  AppendSteps(steps, indent, out);
  return out;
}

std::string Program::Key() const {
  std::string key = ToString();
  for (const BufferSlice& slice : results) key += ' ' + slice.ToString();
  ForEachStep(steps, [&](const Step& step) {
    key += fmt::format(" {} {} ", step.task_count, step.selector_is_pred);
    if (step.kernel != nullptr) key += step.kernel->Key();
  });
  return key;
}

}  // namespace hlo::cpu::tile
