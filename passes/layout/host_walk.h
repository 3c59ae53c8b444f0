// Follows arrays that lie in the memory of the host to all places where they are found, and gives
// each the memory space when all are known.
//
//   walk.Mark({x, {}});  walk.Run();         x, tuples with it, loops that carry it, …
//   walk.Finish();                           … are S(5); copies where the two memories meet
//
// A path ends at MoveToDevice, which becomes a copy, at slices that lead there and nowhere else, at
// custom calls, and at the result of the program, whose layout follows. Operations on the way are
// the host's to compute (`_xla_compute_type`), but for updates of arrays that stay with the device,
// which are given a copy.
//
// Places that are one for control flow are marked together: an element of a loop's state with the
// parameters of its computations. Where such a place is given an array that lies with the device,
// Finish puts a copy.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "passes/layout/host_places.h"
#include "passes/pass.h"

namespace hlo {

// Instructions in the order in which they came, each once.
class InstructionList {
 public:
  void Add(Instruction* instruction) {
    if (known_.insert(instruction).second) items_.push_back(instruction);
  }
  const std::vector<Instruction*>& items() const { return items_; }

 private:
  std::vector<Instruction*> items_;
  absl::flat_hash_set<const Instruction*> known_;  // looked up only
};

class HostWalk {
 public:
  HostWalk(Module& module, PassContext& context) : module_(module), context_(context) {}

  // `place` lies in the memory of the host. Nothing but arrays can.
  void Mark(const HostPlace& place);
  bool Has(const HostPlace& place) const { return known_.contains(KeyOf(place)); }
  // Marks what follows from the marks.
  absl::Status Run();
  void ComputeOnHost(Instruction& instruction);
  const std::vector<HostPlace>& places() const { return places_; }
  // MoveToHost calls that say nothing new (any more): Finish removes them.
  void Remove(Instruction& move_to_host) { passed_.Add(&move_to_host); }
  // Updates with an array of the host, in the order in which they were reached.
  const std::vector<Instruction*>& updates_from_host() const { return updates_from_host_.items(); }

  // Changes shapes and puts copies. Returns whether the module changed but for shapes.
  absl::StatusOr<bool> Finish();

 private:
  using Key = std::pair<const Instruction*, ShapeIndex>;
  static Key KeyOf(const HostPlace& place) { return {place.instruction, place.index}; }
  absl::Status Visit(const HostPlace& place);
  absl::Status Take(const HostStep& step);
  absl::Status TakeAsOther(const HostStep& step);
  void MarkTogether(const HostPlace& place);
  absl::Status ReachResult(const HostPlace& place);
  absl::Status ReturnFromHost();
  void PutRoot(Computation* computation, const ShapeIndex& index);
  void ReplaceAnnotations();
  void ReplaceSlice(Instruction* slice);
  void Repair(Instruction& instruction);
  void Require(const HostEdge& edge, Shape shape);

  Module& module_;
  PassContext& context_;
  std::vector<HostPlace> places_;   // marked, in order
  size_t visited_ = 0;              // so many of them
  absl::flat_hash_set<Key> known_;  // looked up only
  InstructionList passed_;          // MoveToHost
  InstructionList ends_;            // MoveToDevice
  InstructionList slices_;
  InstructionList updates_from_host_;
  std::vector<HostEdge> to_device_;  // what cannot read the host's memory
  bool changed_ = false;
};

// Whether all that becomes of a slice is moved to the device.
bool LeadsToDevice(Instruction& slice);

// What `annotation` stands for is its operand, as it lies there: the operand, or a copy in another
// layout, takes its place.
void ReplaceByOperand(Instruction* annotation);

// The value with arrays in other memories: a copy of them, in a tuple made anew where it is one.
Instruction* InMemoryOf(Instruction* value, Shape shape);

}  // namespace hlo
