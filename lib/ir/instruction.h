// A node of the graph: opcode, shape, operands, attributes, called computations. Created and owned
// by a Computation.
//
// One final class for all opcodes. What differs between opcodes is in the opcode table (lib/ops):
// attributes are an immutable typed payload (`inst->attrs<PadAttrs>()`), replaced as a whole by
// SetAttrs; called computations are edges, named by the table. Uses are kept in both directions
// with O(1) unlinking (use_list.h).
//
// Removing an instruction unlinks it and marks it dead; its memory stays until
// Computation::Sweep(), so a stale pointer may still be asked is_dead(), and neither an address nor
// an id is reused before the sweep.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "lib/ir/extras.h"
#include "lib/ir/use_list.h"
#include "lib/ops/attrs.h"
#include "lib/ops/ops.h"
#include "lib/support/source.h"

namespace hlo {

class Module;

class Instruction final {
 public:
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;

  Opcode opcode() const { return opcode_; }
  std::string_view opcode_text() const { return Text(opcode_); }
  Shape shape() const { return shape_; }
  void set_shape(Shape shape) { shape_ = shape; }
  std::string_view name() const { return name_; }
  uint32_t id() const { return id_; }  // dense in the module; renumbered by Module::Sweep
  Computation* parent() const { return parent_; }
  Module& module() const;
  SourceLoc loc() const { return loc_; }
  void set_loc(SourceLoc loc) { loc_ = loc; }
  bool is_dead() const { return dead_; }
  bool is_root() const;

  // Operands.
  int operand_count() const { return static_cast<int>(operands_.size()); }
  Instruction* operand(int i) const { return operands_[static_cast<size_t>(i)].producer; }
  // The producers in order, as a range of Instruction*.
  class OperandRange {
   public:
    class Iterator {
     public:
      using value_type = Instruction*;
      using difference_type = std::ptrdiff_t;
      using iterator_category = std::forward_iterator_tag;
      using pointer = Instruction* const*;
      using reference = Instruction*;
      explicit Iterator(const OperandSlot* at = nullptr) : at_(at) {}
      Instruction* operator*() const { return at_->producer; }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      Iterator operator++(int) {
        Iterator before = *this;
        ++at_;
        return before;
      }
      friend bool operator==(Iterator, Iterator) = default;

     private:
      const OperandSlot* at_;
    };
    OperandRange(const OperandSlot* begin, const OperandSlot* end) : begin_(begin), end_(end) {}
    Iterator begin() const { return Iterator(begin_); }
    Iterator end() const { return Iterator(end_); }

   private:
    const OperandSlot* begin_;
    const OperandSlot* end_;
  };
  OperandRange operands() const { return {operands_.data(), operands_.data() + operands_.size()}; }
  std::vector<Instruction*> operand_vector() const;
  std::vector<Shape> operand_shapes() const;
  void ReplaceOperand(int i, Instruction* producer);
  void AppendOperand(Instruction* producer);
  // Removes operand i; later ones move down.
  void RemoveOperand(int i);

  // Uses.
  absl::Span<const Use> uses() const { return uses_; }
  bool has_uses() const { return !uses_.empty(); }
  // Somebody sees the result: another instruction reads it, or it is its computation's.
  bool is_used() const;
  int use_count() const { return static_cast<int>(uses_.size()); }
  // Distinct users, sorted by id.
  std::vector<Instruction*> users() const;
  bool has_one_user() const;  // one distinct user (it may read this several times)
  // Redirects every use (not control edges, not the root) to `other`.
  void ReplaceAllUsesWith(Instruction* other);

  // Attributes.
  template <class A>
  const A& attrs() const {
    return attrs_.Get<A>();
  }
  const AttrsPtr& attrs_ptr() const { return attrs_; }
  template <class A>
  void SetAttrs(A attrs) {
    attrs_ = AttrsPtr::Make(std::move(attrs));
  }
  void SetAttrsPtr(AttrsPtr attrs) { attrs_ = std::move(attrs); }
  // The payload of a constant / the number of a parameter / the index of a get-tuple-element.
  const Literal& literal() const { return attrs<ConstantAttrs>().literal; }
  int64_t parameter_number() const { return attrs<ParameterAttrs>().number; }
  int64_t tuple_index() const { return attrs<GetTupleElementAttrs>().index; }

  // Called computations, in the order of the table (while: condition, body; conditional: branches).
  int call_count() const { return static_cast<int>(calls_.size()); }
  Computation* call(int i) const { return calls_[static_cast<size_t>(i)].callee; }
  std::vector<Computation*> calls() const;
  void SetCall(int i, Computation* callee);
  void SetCalls(absl::Span<Computation* const> callees);
  Computation* to_apply() const { return call(0); }           // reduce, map, sort, call, …
  Computation* fused_computation() const { return call(0); }  // fusion
  Computation* while_condition() const { return call(0); }
  Computation* while_body() const { return call(1); }

  // Control edges: this runs after its predecessors.
  absl::Span<Instruction* const> control_predecessors() const;
  absl::Span<Instruction* const> control_successors() const;
  bool has_control_edges() const {
    return !control_predecessors().empty() || !control_successors().empty();
  }
  void AddControlPredecessor(Instruction* predecessor);  // repeated edges are merged
  void RemoveControlPredecessor(Instruction* predecessor);
  void DropControlEdges();

  // Extras.
  const Extras* extras() const { return extras_.get(); }  // null when there are none
  Extras& mutable_extras();
  // Replaces what there is by what Module::NewExtras gave; not for an instruction with
  // control edges.
  void set_extras(ExtrasPtr extras) { extras_ = std::move(extras); }
  const OpMetadata& metadata() const;
  void set_metadata(OpMetadata metadata) { mutable_extras().metadata = std::move(metadata); }
  const Sharding* sharding() const {
    return extras_ && extras_->sharding ? &*extras_->sharding : nullptr;
  }
  void set_sharding(Boxed<Sharding> sharding) { mutable_extras().sharding = std::move(sharding); }
  void clear_sharding() {
    if (extras_) extras_->sharding.reset();
  }
  std::string_view backend_config() const {
    return extras_ ? std::string_view(extras_->backend_config) : "";
  }
  // Copies metadata, sharding, frontend attributes, origin and place from `from` (as a replacement
  // for it).
  void CopyExtrasFrom(const Instruction& from);

  // Questions. Must run whether or not its result is used: by opcode, by a custom call that says
  // so, or by a called computation.
  bool HasSideEffect() const;
  bool HasOwnSideEffect() const;  // as HasSideEffect, called computations not looked at
  bool IsConstant() const { return opcode_ == Opcode::kConstant; }
  bool IsFusion() const { return opcode_ == Opcode::kFusion; }

 private:
  friend class Computation;
  friend class Module;
  Instruction(Opcode opcode, Shape shape) : opcode_(opcode), shape_(shape) {}
  ~Instruction() = default;
  void LinkOperand(Instruction* producer);
  void UnlinkOperand(size_t i);
  void UnlinkCalls();
  ControlEdges& mutable_control();

  Opcode opcode_;
  bool dead_ = false;
  uint32_t id_ = 0;
  uint32_t position_ = 0;  // in the parent's order
  Shape shape_;
  std::string_view name_;
  absl::InlinedVector<OperandSlot, 2> operands_;
  UseList uses_;
  AttrsPtr attrs_;
  absl::InlinedVector<CallSlot, 1> calls_;
  ExtrasPtr extras_;
  Computation* parent_ = nullptr;
  SourceLoc loc_;
};

}  // namespace hlo
