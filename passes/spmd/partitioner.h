// Makes of each computation, whose values are divided as their shardings say, the one that every
// device runs.
//
// Each instruction is looked at once, operands before users. A rule (rules.h) makes of it what a
// device computes and says how the result is divided; the engine then divides it as its sharding
// says. Rules ask for operands in whatever division suits them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/pass.h"
#include "passes/spmd/move.h"

namespace hlo {

// One array of the program: what the device has of it, how it is divided, its shape as a whole.
struct ArrayPart {
  Instruction* value;
  const Placement* placement;
  Shape whole;
};

// A value of the program: the placements are those of its leaves.
struct Parts {
  Instruction* value = nullptr;
  std::vector<const Placement*> leaves;
};

using Placements = std::vector<const Placement*>;

class Partitioner;

// What the computations of one module become. A computation that is called with values divided in
// several ways becomes several.
class ModulePartitioner {
 public:
  // Without `shares_moves`, what several instructions read is moved for each of them.
  ModulePartitioner(Module& module, int64_t partitions, bool shares_moves)
      : state_(module, partitions), shares_moves_(shares_moves) {}

  SpmdState& state() { return state_; }
  bool shares_moves() const { return shares_moves_; }
  struct Made {
    Computation* computation = nullptr;
    Placements result;
  };
  // `parameters`: by parameter and leaf. Without `result`, results are whole.
  absl::StatusOr<Made> Partition(Computation& computation,
                                 const std::vector<Placements>& parameters,
                                 const Placements* result);
  // How the leaves of a value with this sharding are divided.
  absl::StatusOr<Placements> PlacementsOf(const Sharding& sharding, Shape shape,
                                          const Instruction& blame);
  // All of it everywhere, in the regions of `like`; null: there is one.
  Placements WholeLike(Shape shape, const Placement* like);
  // The text of a module that makes the array, whose parts are placed so, whole on each device; the
  // part has this sharding there. The sharding may be null.
  const std::string& RecoveryOf(const Placement* placement, Shape whole,
                                const Sharding::Leaf* sharding);

 private:
  using Key = std::tuple<uint32_t, std::vector<Placements>, std::optional<Placements>>;
  SpmdState state_;
  bool shares_moves_;
  std::map<Key, Made> made_;
  std::map<std::tuple<const Placement*, std::string, bool>, std::string> recoveries_;
};

// One of them.
class Partitioner {
 public:
  Partitioner(ModulePartitioner& module, Computation* made,
              const std::vector<Placements>& parameters)
      : module_(module), code_(made, module.state()), parameters_(parameters) {}

  absl::Status Run(Computation& computation, const Placements* result);
  const Placements& result() const { return result_; }

  // ---- for rules ----
  ModulePartitioner& module() { return module_; }
  SpmdCode& code() { return code_; }
  int64_t partitions() const { return code_.state().partitions(); }
  const Placement* Keep(Placement placement) { return code_.state().Keep(std::move(placement)); }
  const Placements& parameter(int64_t number) const {
    return parameters_[static_cast<size_t>(number)];
  }
  const Parts& parts(const Instruction* old) const { return parts_.at(old); }
  // Operand i, an array.
  ArrayPart Operand(const Instruction& old, int i) const;
  Instruction* OperandAs(const Instruction& old, int i, const Placement* placement) {
    return As(Operand(old, i), placement).value;
  }
  // Operand i, of any shape.
  Instruction* OperandAs(const Instruction& old, int i, const Placements& placements);
  // (An error, that of the whole, if that is outside of the manual region that computes it.)
  ArrayPart As(const ArrayPart& tile, const Placement* placement);
  // How the result is to be divided: as its sharding says, else not at all.
  const Placements& wanted() const { return wanted_; }
  const Placement* wanted(size_t leaf) const { return wanted_[leaf]; }
  // The finest regions that an operand or the result is in.
  const Placement* regions() const { return regions_; }
  // A scalar that all devices of a region have.
  const Placement* Scalar() { return Keep(regions_->AllWhole(0)); }
  // A copy of the instruction for other operands and another shape.
  Instruction* Clone(const Instruction& old, Shape shape, std::vector<Instruction*> operands);
  // Takes away what was said of `old` and does not hold of the part that a device has.
  static void ForgetWhole(Instruction* part, const Instruction& old);
  Parts Made(Instruction* value, const Placement* placement) { return {value, {placement}}; }

 private:
  absl::Status Visit(Instruction& old);
  Parts Divide(Parts parts, Shape whole, const Placements& placements);
  // What was known as `old` is had from its parts; those from `first_new` on were made for it.
  void NoteOrigin(const Instruction& old, const Parts& parts, uint32_t first_new);

  ModulePartitioner& module_;
  SpmdCode code_;
  const std::vector<Placements>& parameters_;
  std::map<const Instruction*, Parts> parts_;
  std::map<std::pair<Instruction*, const Placement*>, Instruction*> moved_;
  const Instruction* visited_ = nullptr;
  absl::Status status_;
  Placements wanted_;
  const Placement* regions_ = nullptr;
  Placements result_;
};

}  // namespace hlo
