// What `rematerialization` takes memory and time for, by its options.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/side_effects.h"
#include "passes/schedule/rematerialization.h"

namespace hlo::remat {

class Model {
 public:
  explicit Model(const RematerializationOptions& options) : options_(options) {}

  const RematerializationOptions& options() const { return options_; }
  bool is_peak_priority() const { return options_.remat_algorithm != "always"; }
  // Of one node of a shape.
  int64_t BytesOf(Shape node) const;
  // The same, but nothing for what lies at the host.
  int64_t DeviceBytesOf(Shape node) const;
  // The shape as which it is kept.
  Shape Compact(Shape array) const;
  Shape AtHost(Shape array) const;

  // What an instruction takes when it has the machine for itself: the longest of what it does.
  float SecondsOf(const Instruction& instruction);
  float SecondsToHost(int64_t bytes) const;
  float SecondsFromHost(int64_t bytes) const;

 private:
  float SecondsOfBody(const Computation& computation);

  const RematerializationOptions& options_;
  absl::flat_hash_map<const Instruction*, float> seconds_;       // looked up only
  absl::flat_hash_map<const Computation*, float> body_seconds_;  // looked up only
};

// Whether the result may be computed twice at all.
bool CanBeRecomputed(const Instruction& instruction, SideEffects& effects);

}  // namespace hlo::remat
