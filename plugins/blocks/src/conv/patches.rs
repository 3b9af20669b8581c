//! The windows of a convolution as rows of a matrix.

use burn::tensor::{Slice, Tensor};

/// Every window of `kernel` inputs `dilation` apart, the windows `stride` apart.
///
/// # Shapes
/// - `x`: `[rows, time, channels]`, at least one window long
/// - result: `[rows * windows, kernel * channels]`, earlier taps first
pub fn patches(x: Tensor<3>, kernel: usize, stride: usize, dilation: usize) -> Tensor<2> {
    let [rows, time, channels] = x.dims();
    if kernel == 1 && stride == 1 {
        return x.reshape([rows * time, channels]);
    }
    let span = (kernel - 1) * dilation + 1;
    let windows = (time - span) / stride + 1;
    // [rows, windows, channels, span] -> [rows, windows, taps, channels]: views, copied once by the reshape.
    let views: Tensor<4> = x.unfold(1, span, stride);
    let taps = if dilation == 1 { views } else { views.slice_dim(3, Slice::new(0, None, dilation as isize)) };
    taps.swap_dims(2, 3).reshape([rows * windows, kernel * channels])
}
