// A library call for two operands and one result, the second of which the kernel may keep packed:
// dot and convolution.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "backends/cpu/library_thunks.h"
#include "lib/support/status.h"

namespace hlo::cpu {

template <class Kernel, class Buffers>
class ProductThunk final : public CpuThunk {
 public:
  ProductThunk(const Instruction& instruction, std::unique_ptr<Kernel> kernel,
               const ThunkBuffers& buffers)
      : CpuThunk(instruction.name()),
        kind_(instruction.opcode_text()),
        kernel_(std::move(kernel)),
        number_(static_cast<size_t>(buffers.kernel_state)),
        forgets_(!buffers.rhs_constant),
        lhs_(buffers.operands[0][0]),
        rhs_(buffers.operands[1][0]),
        out_(buffers.results[0]) {}
  std::string_view kind() const override { return kind_; }
  BufferUses uses() const override { return {{lhs_, rhs_}, {out_}}; }
  int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  void ForgetOperands(DeviceState& state) const override {
    if (!forgets_) return;
    KernelState* const kept = static_cast<CpuState&>(state).kernels[number_].get();
    if (kept != nullptr) kept->ForgetOperands();
  }

 protected:
  absl::Status Run(CpuState& state) const override {
    std::unique_ptr<KernelState>& kept = state.kernels[number_];
    if (kept == nullptr) {
      ASSIGN_OR_RETURN(kept, kernel_->MakeState());
    }
    const Buffers buffers = {state.Address(lhs_), state.Address(rhs_), state.Address(out_),
                             state.scratch, kept.get()};
    if constexpr (std::is_void_v<decltype(kernel_->Run(buffers, *state.pool))>) {
      kernel_->Run(buffers, *state.pool);
      return absl::OkStatus();
    } else {
      return kernel_->Run(buffers, *state.pool);
    }
  }

 private:
  std::string_view kind_;
  std::unique_ptr<Kernel> kernel_;
  size_t number_;  // of CpuState::kernels
  bool forgets_;
  BufferSlice lhs_, rhs_, out_;
};

}  // namespace hlo::cpu
