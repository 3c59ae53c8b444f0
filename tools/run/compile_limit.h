// --compile-timeout: of the passes of --passes and the compilation together.
#pragma once

namespace hlo {

class CompileLimit final {
 public:
  explicit CompileLimit(double seconds) : seconds_(seconds) {}  // 0: none
  // What comes between Start and Stop has what is left of the time.
  void Start();
  void Stop();

 private:
  double seconds_;
  double started_ms_ = 0, used_ms_ = 0;
};

}  // namespace hlo
