// What a kernel of a GPU computes and reads, in a form of which that of a kernel that has taken in
// another one follows without a look at either body.
//
//   f(x, y) { b = broadcast(x)  ROOT a = add(b, y) }
//     index spaces    0: that of the result, once;  1: that of x, as often as b repeats it
//     reads           x in space 1, y in space 0
//
// Elementwise operations pass their index space on to what they read; each other operation makes a
// space for each of its operands, which says how large a part of the operand is read for all of the
// result, and how often an emitter writes down what computes an element. A kernel that takes in
// what it read in spaces 0 and 1 has the producer's result there, and the producer's other spaces
// as new ones of its own. These are XLA's numbers (utilization, IR size), added up as XLA does.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

struct OperandRead {
  const Instruction* operand = nullptr;
  uint32_t id = 0;          // the operand's
  double part = 0;          // of its elements, above 1 when some are read again
  double copies = 0;        // of the code that computes an element
  std::vector<int> spaces;  // sorted

  // At the place of the result.
  bool IsInPlace() const { return !spaces.empty() && spaces.front() == 0; }
  bool IsOf(const Instruction& other) const { return operand == &other; }
};

class KernelWork {
 public:
  // Of an instruction or a fusion.
  explicit KernelWork(const Instruction& kernel);

  double cycles() const { return cycles_; }
  // Instructions that an emitter would write down.
  double emitted_size() const;
  // Reads across memory, by a transpose that is not of a broadcast.
  bool is_strided() const { return is_strided_; }
  // Reads more elements than a few for one of some result.
  bool reduces() const { return reduces_; }
  // Operations that are slow to compute for several elements in one thread.
  bool is_hard_to_unroll() const { return is_hard_to_unroll_; }
  // Operations after which an emitter computes again what it has computed before; by the ids of the
  // instructions that they were before fusing, sorted.
  const std::vector<int64_t>& forgetful() const { return forgetful_; }

  // Null for what is not read.
  const OperandRead* ReadOf(const Instruction& operand) const;
  const std::vector<OperandRead>& reads() const { return reads_; }  // by the ids of operands
  // The part of operands that this kernel reads in spaces of both.
  double PartInBoth(const OperandRead& a, const OperandRead& b) const;

  // The kernel is a fusion now and computes its operand `producer` itself.
  void TakeIn(const Instruction& producer, const KernelWork& of_producer);
  // What it read of one value it reads of another.
  void Rename(const Instruction& operand, const Instruction& newer);
  void BecomeFusion() { is_fusion_ = true; }

 private:
  struct Space {
    double part = 1;
    double copies = 1;
  };
  void AddOperation(const Instruction& x, double part, double copies);
  void AddFusion(const Instruction& fusion);
  OperandRead& ReadFor(const Instruction* operand);
  void AddSpaces(const std::vector<int>& spaces, OperandRead& read) const;

  bool is_fusion_ = false;
  double cycles_ = 0;
  double size_ = 0;  // without parameters
  bool is_strided_ = false;
  bool reduces_ = false;
  bool is_hard_to_unroll_ = false;
  std::vector<int64_t> forgetful_;
  std::vector<Space> spaces_ = {{}};
  std::vector<OperandRead> reads_;
};

// Whether an element is computed from elements at its own place; also tuples and their elements.
bool ReadsInPlace(const Instruction& instruction);
// Of all arrays of a shape.
double ElementsIn(Shape shape);
Shape FirstArray(Shape shape);

}  // namespace hlo
