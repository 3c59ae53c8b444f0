// How many threads of a kernel fit on a multiprocessor at the same time, of as many as it could
// hold. Source: the table "Technical Specifications per Compute Capability" of the CUDA C++
// Programming Guide.
#pragma once

#include <cstdint>
#include <string_view>

namespace hlo::gpu {

// A share of the most, above 0 and at most 1; 0 where not one block fits, or nothing is known of
// the target ("sm_90a").
double Occupancy(std::string_view target, int threads_per_block, int registers_per_thread,
                 int shared_bytes_per_block);

}  // namespace hlo::gpu
