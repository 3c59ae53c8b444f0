// A computation: instructions in a stable order, one root, parameters. Owns its instructions in
// slabs with stable addresses.
//
// Instructions are appended; removing leaves a hole that Sweep() closes. Iteration (`for
// (Instruction* i : computation.instructions())`) skips holes and also visits instructions that are
// appended during it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "lib/ir/instruction.h"
#include "lib/ops/opcode_set.h"
#include "lib/ops/shape_rules.h"

namespace hlo {

class Computation final {
 public:
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  std::string_view name() const { return name_; }
  // The place among all computations the module ever had. Unlike addresses and ids it is not given
  // to another one: a key for what is remembered across sweeps.
  uint32_t serial() const { return serial_; }
  Module& module() const { return *module_; }
  std::string_view execution_thread() const { return execution_thread_; }
  void set_execution_thread(std::string_view thread);
  bool is_entry() const;
  // Called by a fusion instruction.
  bool is_fusion() const;
  Instruction* fusion_caller() const;  // null when not a fusion's
  SourceLoc loc() const { return loc_; }
  void set_loc(SourceLoc loc) { loc_ = loc; }

  // ---- instructions ----
  class Range {
   public:
    class Iterator {
     public:
      Iterator(const std::vector<Instruction*>* order, size_t at) : order_(order), at_(at) {
        Skip();
      }
      Instruction* operator*() const { return (*order_)[at_]; }
      Iterator& operator++() {
        ++at_;
        Skip();
        return *this;
      }
      bool operator!=(std::nullptr_t) const { return at_ < order_->size(); }

     private:
      void Skip() {
        while (at_ < order_->size() && (*order_)[at_] == nullptr) ++at_;
      }
      const std::vector<Instruction*>* order_;
      size_t at_;
    };
    explicit Range(const std::vector<Instruction*>* order) : order_(order) {}
    Iterator begin() const { return Iterator(order_, 0); }
    std::nullptr_t end() const { return nullptr; }

   private:
    const std::vector<Instruction*>* order_;
  };
  // Live instructions in stored order.
  Range instructions() const { return Range(&order_); }
  std::vector<Instruction*> instruction_vector() const;
  int instruction_count() const { return live_; }
  // False when no such instruction was ever added. At once, so passes that look for few opcodes
  // need not look into most computations.
  bool MayHold(Opcode opcode) const { return held_.Has(opcode); }
  bool MayHoldAny(const OpcodeSet& opcodes) const { return held_.Intersects(opcodes); }
  // False when no instruction ever called a computation.
  bool MayCall() const { return may_call_; }
  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }
  // Parameters by number.
  absl::Span<Instruction* const> parameters() const { return parameters_; }
  Instruction* parameter(int i) const { return parameters_[static_cast<size_t>(i)]; }
  int parameter_count() const { return static_cast<int>(parameters_.size()); }
  Signature signature() const;
  // Live instruction of this name, or null. Linear.
  Instruction* Find(std::string_view name) const;

  // Appends an instruction. `name` is made unique in the module; empty: the opcode's text.
  Instruction* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands = {},
                   AttrsPtr attrs = {}, absl::Span<Computation* const> calls = {},
                   std::string_view name = {});
  // As Add, keeping the name as it is; the parser makes names unique when the module is complete.
  Instruction* AddVerbatim(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                           AttrsPtr attrs, absl::Span<Computation* const> calls,
                           std::string_view name);
  Instruction* AddParameter(int64_t number, Shape shape, std::string_view name = {});
  Instruction* AddConstant(Literal literal, std::string_view name = {});
  // A copy of `from` (of any computation of any module) with these operands; attributes and extras
  // without control edges are copied, called computations are shared (so `from` calls none when it
  // is of another module) and the name is made unique.
  Instruction* AddClone(const Instruction& from, Shape shape,
                        absl::Span<Instruction* const> operands);

  // Removes an instruction without uses that is not the root; its control edges go. Parameters only
  // by RemoveParameter.
  void Remove(Instruction* instruction);
  // Removes `instruction` and, transitively, operands that have become unused (not parameters, not
  // side effects, not with control edges). Returns the number removed.
  int RemoveUnused(Instruction* instruction);
  // Redirects all uses (and the root) to `replacement`, moves control edges over, copies metadata
  // when the replacement has none, and removes `old`.
  void Replace(Instruction* old, Instruction* replacement);
  // Removes a parameter without uses and renumbers the later ones; the callers' operands are the
  // caller's business.
  void RemoveParameter(int number);
  // Likewise, with the operand of that number of each caller, a call or fusion.
  void RemoveParameterAndOperands(int number);
  // Frees removed instructions, drops them from the schedule and closes the holes of the order.
  // Called by Module::Sweep.
  void Sweep();

  // Post-order as printed by XLA: for each instruction in stored order that has no users, depth
  // first, control predecessors (last first) before operands (first first).
  std::vector<Instruction*> PostOrder() const;
  // The schedule if there is one, else the post-order.
  std::vector<Instruction*> SequenceOrPostOrder() const;

  // ---- schedule ----
  bool has_schedule() const { return schedule_.has_value(); }
  const std::vector<Instruction*>& schedule() const { return *schedule_; }
  void set_schedule(std::vector<Instruction*> sequence) { schedule_ = std::move(sequence); }
  void clear_schedule() { schedule_.reset(); }

  // ---- callers ----
  absl::Span<const CallSite> callers() const { return callers_; }

 private:
  friend class Module;
  friend class Instruction;
  Computation(Module* module, std::string_view name, uint32_t serial)
      : module_(module), name_(name), serial_(serial) {}
  Instruction* Allocate(Opcode opcode, Shape shape);
  void Unlink(Instruction* instruction);

  static constexpr size_t kSlabSize = 64;
  Module* module_;
  std::string_view name_;
  uint32_t serial_;
  std::string_view execution_thread_ = "main";
  absl::InlinedVector<std::byte*, 2> slabs_;  // from the module's memory
  size_t slab_used_ = kSlabSize;
  std::vector<Instruction*> free_;   // storage of swept instructions
  std::vector<Instruction*> order_;  // null: hole
  std::vector<Instruction*> dead_;   // removed, not yet freed
  OpcodeSet held_;                   // by any instruction, dead ones included
  bool may_call_ = false;
  int live_ = 0;
  Instruction* root_ = nullptr;
  absl::InlinedVector<Instruction*, 2> parameters_;
  std::vector<CallSite> callers_;
  std::optional<std::vector<Instruction*>> schedule_;
  SourceLoc loc_;
};

}  // namespace hlo
