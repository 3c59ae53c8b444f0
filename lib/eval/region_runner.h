// lib/eval/region_runner.h
//
// A scalar region run on lanes of storage bytes, whichever way it can be: as a program of kernels,
// or by evaluating the computation for each lane when it holds more than elementwise operations.
#pragma once

#include <cstring>

#include "lib/eval/eval_internal.h"
#include "lib/eval/region.h"

namespace hlo {

class RegionRunner {
 public:
  RegionRunner(Evaluator& evaluator, const Computation& region, const RegionProgram* program)
      : evaluator_(evaluator), region_(region), program_(program) {}

  static absl::StatusOr<RegionRunner> Make(Evaluator& evaluator, const Computation& region) {
    ASSIGN_OR_RETURN(const RegionProgram* program, evaluator.Region(region));
    return RegionRunner(evaluator, region, program);
  }

  const RegionProgram* program() const { return program_; }

  // results[k][i] of parameters[p][i] for i < lanes <= RegionProgram::kLanes. A result may lie over
  // a parameter.
  absl::Status Run(const uint8_t* const* parameters, absl::Span<uint8_t* const> results,
                   int64_t lanes) {
    if (program_ != nullptr) {
      program_->Run(parameters, results.data(), lanes);
      return absl::OkStatus();
    }
    return RunByEvaluation(parameters, results, lanes);
  }

 private:
  absl::Status RunByEvaluation(const uint8_t* const* parameters, absl::Span<uint8_t* const> results,
                               int64_t lanes) {
    for (int64_t i = 0; i < lanes; ++i) {
      std::vector<Literal> arguments;
      for (int p = 0; p < region_.parameter_count(); ++p) {
        Literal argument(region_.parameter(p)->shape());
        std::memcpy(argument.mutable_data(), parameters[p] + i * argument.byte_size(),
                    static_cast<size_t>(argument.byte_size()));
        arguments.push_back(std::move(argument));
      }
      ASSIGN_OR_RETURN(const Literal value, evaluator_.Evaluate(region_, std::move(arguments)));
      for (size_t k = 0; k < results.size(); ++k) {
        const Literal& part = value.shape().IsTuple() ? value.element(static_cast<int>(k)) : value;
        std::memcpy(results[k] + i * part.byte_size(), part.data(),
                    static_cast<size_t>(part.byte_size()));
      }
    }
    return absl::OkStatus();
  }

  Evaluator& evaluator_;
  const Computation& region_;
  const RegionProgram* program_;
};

}  // namespace hlo
