// Sets of values that lie in one place, and what may be added to them.
//
// A set may be tied to memory that is there before or after the run: that of an argument, of a
// constant, of a result. What is tied to two of them needs a copy in between, but for an argument
// that the module donates for just that result. Arguments that are not donated, and
// constants, keep what they hold: no other value is made in their place.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "lib/analysis/disjoint_values.h"
#include "lib/analysis/interference.h"
#include "lib/analysis/place_members.h"
#include "lib/analysis/values.h"

namespace hlo {

class PlaceSets {
 public:
  // Each value by itself. Both must outlive it.
  PlaceSets(const Values& values, Interference& interference);

  // The representative of the values in one place with `value`.
  ValueId SetOf(ValueId value) const { return sets_.SetOf(value); }
  // Whether other values lie in its place, but those of copies that were dropped.
  bool IsShared(ValueId value) const { return MembersOf(value).values().size() > 1; }

  // Ties arguments, constants and results.
  void TieEnds();
  // States of loops lie where they start and where the body leaves them, what branches return where
  // the conditional's result does.
  void UniteControlFlow();
  // Whatever it means for the values.
  void Unite(ValueId a, ValueId b) { Unite(a, b, /*are_disjoint=*/false); }
  // Two values of one set that interfere, or that are tied to different memory; equal: none.
  std::pair<ValueId, ValueId> Conflict();

  // Unites the sets of two values if nothing speaks against it.
  bool TryUnite(ValueId a, ValueId b);
  // Lets what a copy makes be what it reads if nothing speaks against it.
  bool TryDrop(const Instruction& copy);
  // The same if edges can see to that; which ones is added to `edges`. Not where the two sets have
  // more than `limit` pairs of values.
  bool TryDropByEdges(const Instruction& copy, int64_t limit,
                      std::vector<Interference::Edge>& edges);

  // Numbers of leaves of all arguments, and of the result; -1: not tied.
  struct Tie {
    int argument = -1;
    int result = -1;
    bool is_kept = false;  // a constant, or an argument that is not donated
  };
  const Tie& TieOf(ValueId value) const { return ties_[static_cast<size_t>(SetOf(value))]; }
  // Whether something can be tied to both.
  bool Fit(const Tie& a, const Tie& b) const;

 private:
  void TieArguments();
  void TieResults();
  void Tied(ValueId value, const Tie& tie);
  PlaceMembers& MembersOf(ValueId value) { return members_[static_cast<size_t>(SetOf(value))]; }
  const PlaceMembers& MembersOf(ValueId value) const {
    return members_[static_cast<size_t>(SetOf(value))];
  }
  void Unite(ValueId a, ValueId b, bool are_disjoint);
  struct Copied {
    ValueId made, read;
  };
  std::optional<Copied> MayDrop(const Instruction& copy) const;
  bool TryJoin(const Copied& copied);

  const Values& values_;
  Interference& interference_;
  DisjointValues sets_;
  std::vector<PlaceMembers> members_;  // by representative
  std::vector<Tie> ties_;              // by representative
  std::vector<int> given_for_;         // by leaf of the arguments: of which result
  std::pair<ValueId, ValueId> tied_twice_ = {-1, -1};
};

// Whether a leaf of a result needs memory: tokens and empty arrays need none.
bool NeedsMemory(Shape leaf);

}  // namespace hlo
