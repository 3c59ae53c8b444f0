// Which instructions of a computation need which: paths of operands and control edges.
//
//   a = exp(x)   b = log(x)   c = add(a, b)       c depends on a; a and b are independent
//
// The answer is kept true while a pass merges instructions into one (a fusion, a combined
// collective): a place in a topological order for each node, and, in computations of up to
// kMatrixLimit instructions, a bit matrix of all pairs.
//
//   question            with the matrix    without
//   DependsOn           O(1)               O(edges between the places of the two)
//   DependentsOf        O(edges of what depends on it)
//   Merge               O(n^2 / 64)        O(edges between the places of the members)
//   made in             O(edges * n / 64)  O(edges)
//
// Instructions that were added since have no place, but for get-tuple-elements of those that have
// one; StandFor gives them one. Valid until the next Module::Sweep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

class Reachability {
  using Node = uint32_t;

 public:
  static constexpr size_t kMatrixLimit = 16'384;

  explicit Reachability(const Computation& computation, size_t matrix_limit = kMatrixLimit);

  // Whether `user` needs `producer`, directly or by way of others; nothing needs itself.
  bool DependsOn(const Instruction* user, const Instruction* producer) const;
  bool AreConnected(const Instruction* a, const Instruction* b) const {
    return DependsOn(a, b) || DependsOn(b, a);
  }
  // Whether a member needs another by way of what is no member: one instruction for all of them
  // would need itself.
  bool WouldMakeCycle(absl::Span<Instruction* const> members) const;

  // All that depends on one instruction.
  class Dependents {
   public:
    bool Has(const Instruction* instruction) const;

   private:
    friend class Reachability;
    const Reachability* of_ = nullptr;
    std::vector<bool> nodes_;
  };
  // Those up to `last_place` alone, found without a look at what comes after it.
  Dependents DependentsOf(const Instruction* producer, size_t last_place = SIZE_MAX) const;

  // What instructions that are added one by one depend on, what depends on them, and they
  // themselves. The first few pairs are asked for one by one; then each edge is walked once,
  // however many are added and asked for.
  class Neighbours {
   public:
    explicit Neighbours(const Reachability& of) : of_(of) {}
    void Add(const Instruction* instruction);
    bool Has(const Instruction* instruction);

   private:
    void Mark(Node node);

    static constexpr size_t kFewPairs = 64;
    const Reachability& of_;
    std::vector<const Instruction*> added_;
    size_t pairs_ = 0;                  // asked for
    std::vector<bool> before_, after_;  // by node; empty while the pairs are few
  };

  // A place in a topological order: what an instruction needs has a smaller one.
  size_t PlaceOf(const Instruction* instruction) const;

  // From now on `members` are one node, which needs what they need and is needed by what needs
  // them; they are not to make a cycle. Called while they have their operands. What does not depend
  // on them goes before them in the order, the rest after them.
  void Merge(absl::Span<Instruction* const> members);
  // From now on `added` are the node that `known` is: they have its place and are asked for their
  // operands. Elements of tuples need not be among them.
  void StandFor(absl::Span<const Instruction* const> added, const Instruction* known);

  // For each instruction what it depends on.
  static std::string ToString(const Module& module);

  friend bool operator==(const Reachability& a, const Reachability& b) {
    return a.instructions_ == b.instructions_ && a.order_ == b.order_ && a.rows_ == b.rows_;
  }

 private:
  static constexpr Node kNone = ~Node{0};

  Node NodeOf(const Instruction* instruction) const;
  Node Known(const Instruction* instruction) const;
  bool has_matrix() const { return words_ != 0; }
  bool Bit(Node row, Node column) const {
    return (rows_[row * words_ + column / 64] >> (column % 64) & 1) != 0;
  }
  void SetBit(Node row, Node column) {
    rows_[row * words_ + column / 64] |= uint64_t{1} << (column % 64);
  }
  void Unite(Node row, Node with);
  template <class Fn>
  void ForEachInstruction(Node node, const Fn& fn) const;
  template <class Fn>
  void ForEachNeed(Node node, const Fn& fn) const;
  template <class Fn>
  void ForEachUser(Node node, const Fn& fn) const;
  // Of the places [begin, end) those whose nodes are, or depend on, one of `sources`.
  std::vector<bool> Dependent(size_t begin, size_t end, const std::vector<Node>& sources) const;
  bool Search(Node user, Node producer) const;
  void MergeRows(Node into, const std::vector<Node>& nodes);

  absl::flat_hash_map<const Instruction*, Node> nodes_;  // looked up only
  // A short cut to nodes_: by id from first_id_ on, where that is still whose node it was.
  uint32_t first_id_ = 0;
  std::vector<Node> by_id_;
  std::vector<const Instruction*> made_for_;      // by node
  std::vector<Node> merged_into_;                 // by node: itself, or the next to ask
  std::vector<const Instruction*> instructions_;  // by node: whose operands count
  absl::flat_hash_map<Node, std::vector<const Instruction*>> more_;  // others of those
  std::vector<size_t> places_;                                       // by node
  std::vector<Node> order_;     // by place; kNone: merged into another
  size_t words_ = 0;            // of a row; 0: no matrix
  std::vector<uint64_t> rows_;  // what each node depends on
};

// Of all computations of a module, each made when it is first asked for. Passes that merge take a
// copy.
class Reachabilities {
 public:
  static constexpr std::string_view kName = "reachability";

  const Reachability& Of(const Computation& computation);

  void AskAll(const Module& module);
  std::string Mistake(const Module& module) const;

 private:
  std::vector<std::unique_ptr<const Reachability>> known_;  // by serial
};

}  // namespace hlo
