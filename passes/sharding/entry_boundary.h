// The result and the parameters of the entry: which of their shardings propagation may change, and
// what becomes of the others.
#pragma once

#include <optional>
#include <vector>

#include "passes/sharding/instruction_sharding.h"

namespace hlo {

class EntryBoundary {
 public:
  // One flag for all, or one for each parameter (element of the only parameter, of the result).
  EntryBoundary(Module& module, const std::vector<bool>& to_output,
                const std::vector<bool>& to_parameters);
  bool any_output() const;
  bool any_parameter() const;
  // Puts back what may not change, and replicates what is not divided evenly. Whether the root has
  // another sharding now.
  bool Restore();

 private:
  void RestoreOutput();
  void RestoreParameters();
  void RestoreElements(Instruction& tuple, const std::optional<Sharding>& before,
                       const std::vector<bool>& allowed);

  Computation& entry_;
  std::vector<bool> to_output_, to_parameters_;
  std::optional<Sharding> output_;
  std::vector<std::optional<Sharding>> parameters_;
};

}  // namespace hlo
