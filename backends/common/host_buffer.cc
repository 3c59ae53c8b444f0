#include "backends/common/host_buffer.h"

#include <cstring>
#include <new>
#include <utility>

#include "backends/common/stored_array.h"
#include "lib/support/byte_count.h"
#include "lib/support/memory_info.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<HostBuffer> HostBuffer::Make(Shape shape) {
  HostBuffer buffer;
  buffer.shape_ = shape;
  buffer.size_ = StoredBytes(shape);
  if (buffer.size_ == 0) return buffer;
  // Whole units: kernels may read to the end of the last one.
  const int64_t bytes = RoundUp(buffer.size_, kAlignment);
  constexpr int64_t kMuch = 64 << 20;  // less is asked for without a look at what there is
  void* const data =
      bytes > kMuch && bytes > AvailableMemory()
          ? nullptr
          : ::operator new (static_cast<size_t>(bytes), std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return MakeError(
        absl::StatusCode::kResourceExhausted, SourceLoc(),
        fmt::format("out of memory: a buffer of shape `{}` takes {}", shape, ByteCountText(bytes)));
  }
  buffer.data_.reset(static_cast<std::byte*>(data));
  return buffer;
}

absl::StatusOr<HostBuffer> HostBuffer::Of(const Literal& value, Shape shape) {
  ASSIGN_OR_RETURN(HostBuffer buffer, Make(shape));
  if (buffer.size_ > 0) RETURN_IF_ERROR(StoreArray(value, shape, buffer.data()));
  return buffer;
}

HostBuffer HostBuffer::Of(std::shared_ptr<RemoteArray> array, Shape shape) {
  HostBuffer buffer;
  buffer.shape_ = shape;
  buffer.size_ = StoredBytes(shape);
  buffer.remote_ = std::move(array);
  return buffer;
}

absl::Status HostBuffer::RefuseDonated() const {
  if (!is_donated_) return absl::OkStatus();
  return Error("a buffer of shape `{}` was donated to a run: its memory is another's", shape_);
}

absl::StatusOr<HostBuffer> HostBuffer::Copy() const {
  RETURN_IF_ERROR(RefuseDonated());
  if (remote_ != nullptr) return Of(remote_, shape_);
  ASSIGN_OR_RETURN(HostBuffer copy, Make(shape_));
  if (size_ > 0) std::memcpy(copy.data(), data(), static_cast<size_t>(size_));
  return copy;
}

absl::StatusOr<Literal> HostBuffer::ToLiteral() const {
  RETURN_IF_ERROR(RefuseDonated());
  if (remote_ != nullptr) return remote_->ToLiteral(shape_);
  return shape_.IsToken() ? Literal::Token() : LoadArray(shape_, data());
}

HostBuffer HostBuffer::Donate() {
  HostBuffer taken;
  taken.shape_ = shape_;
  taken.size_ = size_;
  taken.data_ = std::move(data_);
  taken.remote_ = std::move(remote_);
  is_donated_ = true;
  return taken;
}

HostBuffer HostBuffer::As(Shape shape) && {
  HostBuffer other = std::move(*this);
  other.shape_ = shape;
  return other;
}

}  // namespace hlo
