// What the backend config of a loop says of its iterations, as `while-loop-trip-count-annotator`
// writes it:
//
//   {"known_trip_count":{"n":"10"},"known_init_step":{"init":"0","step":"1"},
//    "known_induction_variable":{"tuple_index":"0"}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hlo {

struct LoopKnowledge {
  std::optional<int64_t> trip_count;
  std::optional<int64_t> init;  // with `step`
  std::optional<int64_t> step;
  std::optional<int64_t> induction_index;

  // Other entries are ignored.
  static LoopKnowledge FromConfig(std::string_view config);
  std::string ToConfig() const;
};

}  // namespace hlo
