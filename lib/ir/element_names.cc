#include "lib/ir/element_names.h"

#include <string>

#include "absl/strings/ascii.h"
#include "lib/ir/instruction.h"

namespace hlo {
namespace {

// The name without its number, if that ends like the name of an element; else "".
std::string_view ElementLikeRoot(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && absl::ascii_isdigit(name[end - 1])) --end;
  if (end > 0 && end < name.size() && name[end - 1] == '.') {
    name = name.substr(0, end - 1);
    end = name.size();
    while (end > 0 && absl::ascii_isdigit(name[end - 1])) --end;
  }
  return end > 0 && end < name.size() && name[end - 1] == '_' ? name : std::string_view();
}

class Elements {
 public:
  explicit Elements(const Module& module) : module_(module) {}

  absl::flat_hash_set<const Instruction*> Run() {
    constexpr int kMostRounds = 8;  // a line that is kept brings a name
    for (int round = 0; round < kMostRounds; ++round) {
      if (!KeepMore()) return std::move(kept_);
    }
    ForEach([&](const Instruction& instruction) {
      if (instruction.opcode() == Opcode::kGetTupleElement) kept_.insert(&instruction);
    });
    return std::move(kept_);
  }

 private:
  template <class F>
  void ForEach(const F& f) {
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* instruction : computation->instructions()) f(*instruction);
    }
  }
  bool IsCompact(const Instruction& instruction) const {
    return instruction.opcode() == Opcode::kGetTupleElement && !instruction.has_control_edges() &&
           !kept_.contains(&instruction);
  }
  // What a reader calls the element.
  std::string MadeName(const Instruction& element) const {
    std::string path;
    const Instruction* at = &element;
    for (; IsCompact(*at); at = at->operand(0))
      path.insert(0, "_" + std::to_string(at->tuple_index()));
    return std::string(at->name()) + path;
  }
  // Whether there was more to keep.
  bool KeepMore() {
    absl::flat_hash_set<std::string_view> printed;
    bool any = false;
    ForEach([&](const Instruction& instruction) {
      const bool compact = IsCompact(instruction);
      any = any || compact;
      if (compact && !instruction.is_root()) return;
      const std::string_view root = ElementLikeRoot(instruction.name());
      if (!root.empty()) printed.insert(root);
    });
    if (!any || printed.empty()) return false;
    std::vector<const Instruction*> taking;
    ForEach([&](const Instruction& instruction) {
      if (IsCompact(instruction) && printed.contains(MadeName(instruction)))
        taking.push_back(&instruction);
    });
    kept_.insert(taking.begin(), taking.end());
    return !taking.empty();
  }

  const Module& module_;
  absl::flat_hash_set<const Instruction*> kept_;
};

}  // namespace

absl::flat_hash_set<const Instruction*> ElementsThatTakeNames(const Module& module) {
  return Elements(module).Run();
}

}  // namespace hlo
