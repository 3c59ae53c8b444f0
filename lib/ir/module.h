// A module: computations in creation order, one entry, configuration, the pool of names, and the
// source text it was read from. No global state; everything a pass changes hangs here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ir/computation.h"
#include "lib/ir/module_config.h"
#include "lib/ir/name_uniquer.h"
#include "lib/support/bump_allocator.h"
#include "lib/support/string_hash.h"

namespace hlo {

class Module final {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  ModuleConfig& config() { return config_; }
  const ModuleConfig& config() const { return config_; }
  // The text the module was read from; null for a built one.
  const std::shared_ptr<const Source>& source() const { return source_; }
  void set_source(std::shared_ptr<const Source> source) { source_ = std::move(source); }
  bool is_scheduled() const { return scheduled_; }
  void set_scheduled(bool scheduled) { scheduled_ = scheduled; }
  void ClearSchedule();

  // ---- computations ----
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }
  // Adds an empty computation; the name is made unique.
  Computation* AddComputation(std::string_view name);
  // As AddComputation with the name kept, whose text lives as long as the module (in its source, or
  // by Intern); see UniquifyNames.
  Computation* AddComputationVerbatim(std::string_view name);
  Computation* AddEntry(std::string_view name) { return entry_ = AddComputation(name); }
  // Makes `entry` the entry, its shapes the entry layout, and forgets what was said about the old
  // one's parameters and result (aliases, donors, dynamic sizes, prefetches, shardings). The old
  // one stays; RemoveUnusedComputations takes it if nothing calls it.
  void ReplaceEntry(Computation* entry);
  // Redirects all calls (and the entry) from the first to the second of each pair and removes the
  // first ones. A second one that is itself replaced is followed.
  void ReplaceComputations(absl::Span<const std::pair<Computation*, Computation*>> replacements);
  // Live computations in creation order. Snapshot-free: do not add or remove while iterating; copy
  // first.
  const std::vector<Computation*>& computations() const { return order_; }
  int computation_count() const { return static_cast<int>(order_.size()); }
  Computation* FindComputation(std::string_view name) const;
  // Live instruction of this name in any computation, or null. Linear.
  Instruction* FindInstruction(std::string_view name) const;
  // Removes a computation nobody calls.
  void RemoveComputation(Computation* computation);
  // Removes computations not reachable from the entry; returns how many.
  int RemoveUnusedComputations();
  // Callees before callers, as XLA orders them for printing.
  std::vector<Computation*> PostOrder() const;
  // As PostOrder without fusion bodies: what most passes walk.
  std::vector<Computation*> NonFusionComputations() const;
  int64_t instruction_count() const;
  // Sets the creation order: `order` holds every live computation once.
  void SetComputationOrder(std::vector<Computation*> order) { order_ = std::move(order); }
  // Moves `computation` to stand before `before` in the creation order (a callee that was made
  // after its caller).
  void MoveToFront(Computation* computation, Computation* before);

  // Copies `from`, of this or another module. What it calls is copied as well when `deep` and when
  // `from` is of another module, each computation once; else it is shared. Names are made unique
  // after `suffix` has been appended to those of computations. Returns the new computation.
  Computation* CloneComputation(const Computation& from, std::string_view suffix, bool deep);
  std::unique_ptr<Module> Clone() const;

  // ---- names ----
  // Makes all names unique in XLA's order; for modules built with the Verbatim calls, whose
  // instructions have sanitized names.
  void UniquifyNames();
  std::string_view UniqueInstructionName(std::string_view name);
  void Rename(Instruction* instruction, std::string_view name);
  // Gives `to` the name of `from`, which is about to be removed.
  void MoveName(const Instruction& from, Instruction* to);
  // A copy of `text` that lives as long as the module.
  std::string_view Intern(std::string_view text);

  // ---- bookkeeping ----
  BumpAllocator& memory() { return memory_; }
  ExtrasPtr NewExtras() { return ExtrasPtr(new (memory_.Take(sizeof(Extras))) Extras); }
  uint32_t NextId() { return next_id_++; }
  uint32_t id_limit() const { return next_id_; }
  // Above every Computation::serial so far.
  uint32_t serial_limit() const { return next_serial_; }
  // Frees removed instructions and renumbers ids densely, in stored order. Called between passes:
  // no pointer to a dead instruction and no id survives it.
  void Sweep();

  // Entry layout from the entry computation's parameters and root.
  void ResetEntryLayout();

 private:
  std::string name_;
  ModuleConfig config_;
  std::shared_ptr<const Source> source_;
  bool scheduled_ = false;
  Computation* entry_ = nullptr;
  std::vector<Computation*> order_;
  BumpAllocator memory_;  // of names and instructions: outlives the computations
  std::vector<std::unique_ptr<Computation, void (*)(Computation*)>> owned_;
  NameUniquer instruction_names_;
  NameUniquer computation_names_;
  StringViewSet pool_;
  uint32_t next_id_ = 0;
  uint32_t next_serial_ = 0;
};

}  // namespace hlo
