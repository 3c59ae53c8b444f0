// One array in memory that runs take in, and give out, as it is (buffer_run.h): stored as
// stored_array.h says, at a multiple of 64 bytes.
//
//   ASSIGN_OR_RETURN(HostBuffer x, HostBuffer::Of(literal));
//   x.ToLiteral();
//
// A buffer that a run was given to keep is donated: it has no memory any more, and reading it or
// passing it to another run is an error.
//
// What a run on a device made stays there until it is read: the buffer is remote, has no memory
// here, and runs on that device take it as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

// An array in the memory of a device. Its value never changes.
class RemoteArray {
 public:
  virtual ~RemoteArray() = default;
  virtual absl::StatusOr<Literal> ToLiteral(Shape shape) const = 0;
};

class HostBuffer {
 public:
  static constexpr int64_t kAlignment = 64;

  HostBuffer() = default;
  // Memory for an array, a buffer or a token of this shape; its bytes are not set. Too much is an
  // error.
  static absl::StatusOr<HostBuffer> Make(Shape shape);
  // A copy of `value`, which fits `shape`: that of a leaf of a parameter.
  static absl::StatusOr<HostBuffer> Of(const Literal& value, Shape shape);
  static absl::StatusOr<HostBuffer> Of(const Literal& value) { return Of(value, value.shape()); }
  static HostBuffer Of(std::shared_ptr<RemoteArray> array, Shape shape);

  absl::StatusOr<HostBuffer> Copy() const;
  absl::StatusOr<Literal> ToLiteral() const;

  Shape shape() const { return shape_; }
  int64_t size() const { return size_; }  // in bytes; 0 for tokens and empty arrays
  // Null without bytes, once donated, and of remote buffers.
  std::byte* data() const { return data_.get(); }
  const std::shared_ptr<RemoteArray>& remote() const { return remote_; }
  bool is_donated() const { return is_donated_; }

  // The memory, which leaves this a donated buffer.
  HostBuffer Donate();
  // The same memory as an array of another shape of as many bytes.
  HostBuffer As(Shape shape) &&;

 private:
  struct Free {
    void operator()(std::byte* data) const {
      ::operator delete (data, std::align_val_t{kAlignment});
    }
  };
  absl::Status RefuseDonated() const;

  Shape shape_;
  int64_t size_ = 0;
  std::unique_ptr<std::byte, Free> data_;
  std::shared_ptr<RemoteArray> remote_;
  bool is_donated_ = false;
};

}  // namespace hlo
