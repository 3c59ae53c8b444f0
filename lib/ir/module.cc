#include "lib/ir/module.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "lib/support/check.h"

namespace hlo {

Module::~Module() = default;

// ---- names ----

std::string_view Module::Intern(std::string_view text) {
  if (const auto it = pool_.find(text); it != pool_.end()) return *it;
  char* const chars = memory_.TakeChars(text.size());
  if (!text.empty()) std::memcpy(chars, text.data(), text.size());
  const std::string_view copy(chars, text.size());
  pool_.insert(copy);
  return copy;
}

std::string_view Module::UniqueInstructionName(std::string_view name) {
  return Intern(instruction_names_.Unique(name));
}

void Module::Rename(Instruction* instruction, std::string_view name) {
  instruction->name_ = UniqueInstructionName(name);
}

void Module::MoveName(const Instruction& from, Instruction* to) { to->name_ = from.name_; }

void Module::UniquifyNames() {
  instruction_names_.Clear();
  computation_names_.Clear();
  instruction_names_.Reserve(static_cast<size_t>(instruction_count()));
  computation_names_.Reserve(order_.size());
  for (Computation* computation : order_) {
    if (!IsSanitizedName(computation->name_) || !computation_names_.TakeAsIs(computation->name_)) {
      computation->name_ = Intern(computation_names_.Unique(computation->name_));
    }
    // The table is larger than the caches: what a name will need is fetched while others are taken.
    constexpr size_t kAhead = 8;
    Instruction* waiting[kAhead];
    size_t fetched = 0, taken = 0;
    const auto take = [&] {
      Instruction* instruction = waiting[taken++ % kAhead];
      if (!instruction_names_.TakeAsIs(instruction->name_))
        instruction->name_ = UniqueInstructionName(instruction->name_);
    };
    for (Instruction* instruction : computation->instructions()) {
      if (fetched - taken == kAhead) take();
      instruction_names_.Prefetch(instruction->name_);
      waiting[fetched++ % kAhead] = instruction;
    }
    while (taken < fetched) take();
  }
}

// ---- computations ----

Computation* Module::AddComputationVerbatim(std::string_view name) {
  auto* computation =
      new (memory_.Take(sizeof(Computation))) Computation(this, name, next_serial_++);
  owned_.emplace_back(computation, [](Computation* c) {
    BumpAllocator& memory = c->module_->memory_;
    c->~Computation();
    memory.Give(c, sizeof(Computation));
  });
  order_.push_back(computation);
  return computation;
}

Computation* Module::AddComputation(std::string_view name) {
  return AddComputationVerbatim(Intern(computation_names_.Unique(name)));
}

Computation* Module::FindComputation(std::string_view name) const {
  for (Computation* computation : order_) {
    if (computation->name() == name) return computation;
  }
  return nullptr;
}

void Module::RemoveComputation(Computation* computation) {
  HLO_CHECK(computation->callers().empty());
  for (Instruction* instruction : computation->instructions()) instruction->UnlinkCalls();
  std::erase(order_, computation);
  std::erase_if(owned_, [computation](const auto& owned) { return owned.get() == computation; });
  if (entry_ == computation) entry_ = nullptr;
}

int Module::RemoveUnusedComputations() {
  absl::flat_hash_set<const Computation*> reached;
  std::vector<Computation*> stack = {entry_};
  reached.insert(entry_);
  while (!stack.empty()) {
    Computation* top = stack.back();
    stack.pop_back();
    if (!top->MayCall()) continue;
    for (Instruction* instruction : top->instructions()) {
      for (const CallSlot& slot : instruction->calls_) {
        if (reached.insert(slot.callee).second) stack.push_back(slot.callee);
      }
    }
  }
  std::vector<Computation*> kept;
  int removed = 0;
  for (Computation* computation : order_) {
    if (reached.contains(computation)) {
      kept.push_back(computation);
      continue;
    }
    ++removed;
    for (Instruction* instruction : computation->instructions()) instruction->UnlinkCalls();
  }
  if (removed == 0) return 0;
  order_ = std::move(kept);
  std::erase_if(owned_, [&reached](const auto& owned) { return !reached.contains(owned.get()); });
  return removed;
}

Instruction* Module::FindInstruction(std::string_view name) const {
  for (const Computation* computation : order_) {
    if (Instruction* found = computation->Find(name)) return found;
  }
  return nullptr;
}

void Module::ReplaceEntry(Computation* entry) {
  HLO_CHECK(&entry->module() == this);
  entry_ = entry;
  ResetEntryLayout();
  config_.aliases.clear();
  config_.donors.clear();
  config_.dynamic_parameters.clear();
  config_.cross_program_prefetches.clear();
  config_.spmd_parameter_shardings.clear();
  config_.spmd_output_sharding.reset();
}

void Module::ReplaceComputations(
    absl::Span<const std::pair<Computation*, Computation*>> replacements) {
  absl::flat_hash_map<const Computation*, Computation*> next;
  for (const auto& [from, to] : replacements) {
    HLO_CHECK(from != to);
    HLO_CHECK((next.emplace(from, to).second));
  }
  const auto last = [&next](Computation* computation) {
    for (size_t steps = 0; steps <= next.size(); ++steps) {
      const auto it = next.find(computation);
      if (it == next.end()) return computation;
      computation = it->second;
    }
    HLO_CHECK(false);  // they replace each other in a circle
    return computation;
  };
  for (const auto& [from, to] : replacements) {
    Computation* kept = last(to);
    const std::vector<CallSite> callers(from->callers().begin(), from->callers().end());
    for (const CallSite& site : callers) site.caller->SetCall(site.call_index, kept);
    if (entry_ == from) entry_ = kept;
  }
  // A replaced one may still call another one that stands later in the list.
  for (const auto& [from, to] : replacements) {
    for (Instruction* instruction : from->instructions()) instruction->UnlinkCalls();
  }
  const auto replaced = [&next](const Computation* computation) {
    return next.contains(computation);
  };
  for (const auto& [from, to] : replacements) HLO_CHECK(from->callers().empty());
  std::erase_if(order_, replaced);
  std::erase_if(owned_, [&replaced](const auto& owned) { return replaced(owned.get()); });
}

std::vector<Computation*> Module::PostOrder() const {
  // XLA's walk: an instruction's callees go on the stack together, marked when pushed, first one on
  // top (while: body before condition); a computation is done when all its instructions have been
  // walked.
  struct Walk {
    Computation* computation;
    std::vector<Instruction*> callers;  // its instructions with calls
    size_t next = 0;
  };
  const auto start_walk = [](Computation* computation) {
    Walk walk{computation, {}};
    if (!computation->MayCall()) return walk;
    for (Instruction* instruction : computation->instructions()) {
      if (!instruction->calls_.empty()) walk.callers.push_back(instruction);
    }
    return walk;
  };
  std::vector<Computation*> result;
  result.reserve(order_.size());
  absl::flat_hash_set<const Computation*> visited;
  visited.reserve(order_.size());
  std::vector<Walk> walks;
  for (Computation* start : order_) {
    if (!start->callers().empty() || !visited.insert(start).second) continue;
    walks.push_back(start_walk(start));
    while (!walks.empty()) {
      Walk& top = walks.back();
      if (top.next == top.callers.size()) {
        result.push_back(top.computation);
        walks.pop_back();
        continue;
      }
      const Instruction* caller = top.callers[top.next++];
      absl::InlinedVector<Computation*, 2> callees;
      for (const CallSlot& slot : caller->calls_) callees.push_back(slot.callee);
      if (caller->opcode() == Opcode::kWhile) std::reverse(callees.begin(), callees.end());
      for (size_t i = callees.size(); i-- > 0;) {
        if (visited.insert(callees[i]).second) walks.push_back(start_walk(callees[i]));
      }
    }
  }
  return result;
}

std::vector<Computation*> Module::NonFusionComputations() const {
  std::vector<Computation*> result = PostOrder();
  std::erase_if(result, [](const Computation* computation) { return computation->is_fusion(); });
  return result;
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const Computation* computation : order_) count += computation->instruction_count();
  return count;
}

void Module::MoveToFront(Computation* computation, Computation* before) {
  std::erase(order_, computation);
  order_.insert(std::find(order_.begin(), order_.end(), before), computation);
}

void Module::ClearSchedule() {
  scheduled_ = false;
  for (Computation* computation : order_) computation->clear_schedule();
}

void Module::Sweep() {
  uint32_t next = 0;
  for (Computation* computation : order_) {
    computation->Sweep();
    for (Instruction* instruction : computation->instructions()) instruction->id_ = next++;
  }
  next_id_ = next;
}

void Module::ResetEntryLayout() {
  config_.entry_layout.parameters.clear();
  for (const Instruction* parameter : entry_->parameters())
    config_.entry_layout.parameters.push_back(parameter->shape());
  config_.entry_layout.result = entry_->root()->shape();
}

}  // namespace hlo
