#include "backends/common/buffer_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/analysis/entry_aliases.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// The value made of leaves from `next` on.
absl::StatusOr<Literal> ValueOf(Shape shape, absl::Span<const BufferArgument> leaves,
                                size_t& next) {
  if (!shape.IsTuple()) return leaves[next++].buffer->ToLiteral();
  std::vector<Literal> elements;
  for (const Shape element : shape.elements()) {
    ASSIGN_OR_RETURN(elements.emplace_back(), ValueOf(element, leaves, next));
  }
  return Literal::Tuple(std::move(elements));
}

void AppendLeaves(const Literal& value, std::vector<const Literal*>& leaves) {
  if (!value.shape().IsTuple()) return leaves.push_back(&value);
  for (const Literal& element : value.elements()) AppendLeaves(element, leaves);
}

// By literals: for platforms that keep arrays in a memory or a form of their own.
class CopyingRun final : public BufferRun {
 public:
  CopyingRun(const Executable& executable, std::unique_ptr<ExecutionState> state)
      : BufferRun(executable), entry_(*executable.module().entry()), state_(std::move(state)) {}

 private:
  absl::StatusOr<std::vector<HostBuffer>> Run(absl::Span<const BufferArgument> arguments,
                                              const RunOptions& options) override {
    std::vector<Literal> values;
    size_t next = 0;
    for (const Instruction* parameter : entry_.parameters()) {
      ASSIGN_OR_RETURN(values.emplace_back(), ValueOf(parameter->shape(), arguments, next));
    }
    ASSIGN_OR_RETURN(const Literal result, state_->Execute(values, options));
    std::vector<const Literal*> leaves;
    AppendLeaves(result, leaves);
    std::vector<HostBuffer> outputs(leaves.size());
    for (const Alias& alias : aliases()) {
      if (arguments[alias.parameter].donated == nullptr) continue;
      // The memory of the argument is the output's, even if it was not made there.
      HostBuffer memory = arguments[alias.parameter].donated->Donate();
      const Literal& leaf = *leaves[alias.output];
      if (memory.size() != leaf.byte_size() || memory.size() == 0) continue;
      std::memcpy(memory.data(), leaf.data(), static_cast<size_t>(memory.size()));
      outputs[alias.output] = std::move(memory).As(result_leaves()[alias.output]);
    }
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (outputs[i].data() != nullptr) continue;
      ASSIGN_OR_RETURN(outputs[i], HostBuffer::Of(*leaves[i], result_leaves()[i]));
    }
    for (const BufferArgument& argument : arguments) {
      if (argument.donated != nullptr) argument.donated->Donate();
    }
    return outputs;
  }

  const Computation& entry_;
  std::unique_ptr<ExecutionState> state_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BufferRun>> BufferRun::Make(const Executable& executable) {
  if (const auto* const takes_buffers = dynamic_cast<const TakesBuffers*>(&executable))
    return takes_buffers->MakeBufferRun();
  ASSIGN_OR_RETURN(std::unique_ptr<ExecutionState> state, executable.MakeState());
  return std::make_unique<CopyingRun>(executable, std::move(state));
}

BufferRun::BufferRun(const Executable& executable)
    : entry_(*executable.module().entry()), result_leaves_(LeafShapes(entry_.root()->shape())) {
  std::vector<size_t> first;  // leaf of each parameter
  for (const Instruction* parameter : entry_.parameters()) {
    first.push_back(parameter_leaves_.size());
    for (const Shape leaf : LeafShapes(parameter->shape())) {
      names_.push_back(
          NameOfLeaf(*parameter, static_cast<int64_t>(parameter_leaves_.size() - first.back())));
      parameter_leaves_.push_back(leaf);
    }
  }
  for (const EntryAlias& alias : EntryAliases(executable.module())) {
    const auto number = static_cast<size_t>(alias.parameter->parameter_number());
    aliases_.push_back({alias.to, first[number] + alias.from, alias.must_alias});
  }
}

absl::Status BufferRun::Check(absl::Span<const BufferArgument> arguments) const {
  if (arguments.size() != parameter_leaves_.size()) {
    return Error("`{}` takes {} buffers, one for each leaf of its parameters, got {}",
                 entry_.name(), parameter_leaves_.size(), arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const HostBuffer& buffer = *arguments[i].buffer;
    if (buffer.is_donated()) {
      return Error("the buffer for `{}` was donated to an earlier run; it cannot be used again",
                   names_[i]);
    }
    if (!CompatibleIgnoringDynamic(buffer.shape(), parameter_leaves_[i]) ||
        buffer.shape().has_dynamic_dims() != parameter_leaves_[i].has_dynamic_dims()) {
      return Error("the buffer for `{}` has shape `{}`, expected `{}`", names_[i], buffer.shape(),
                   parameter_leaves_[i]);
    }
    for (size_t other = 0; arguments[i].donated != nullptr && other < arguments.size(); ++other) {
      if (other != i && arguments[other].buffer == arguments[i].buffer)
        return Error("the buffer for `{}` is donated, and given for `{}` as well", names_[i],
                     names_[other]);
    }
  }
  for (const Alias& alias : aliases_) {
    if (!alias.must_alias || arguments[alias.parameter].donated != nullptr) continue;
    return Error("output {} must alias `{}`, which is borrowed; it has to be donated", alias.output,
                 names_[alias.parameter]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostBuffer>> BufferRun::Execute(
    absl::Span<const BufferArgument> arguments, const RunOptions& options) {
  RETURN_IF_ERROR(Check(arguments));
  if (TakesRemote()) return Run(arguments, options);
  std::vector<BufferArgument> here(arguments.begin(), arguments.end());
  std::vector<HostBuffer> copies(arguments.size());
  for (size_t i = 0; i < here.size(); ++i) {
    if (here[i].buffer->remote() == nullptr) continue;
    ASSIGN_OR_RETURN(const Literal value, here[i].buffer->ToLiteral());
    ASSIGN_OR_RETURN(copies[i], HostBuffer::Of(value, here[i].buffer->shape()));
    if (here[i].donated != nullptr) here[i].donated->Donate();
    here[i] = {&copies[i], here[i].donated == nullptr ? nullptr : &copies[i]};
  }
  return Run(here, options);
}

}  // namespace hlo
