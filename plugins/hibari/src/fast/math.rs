//! Elementary functions in f32, branch-free so that loops over them vectorise; absolute error below 1e-6 each (tests).
//!
//! The coefficients are minimax fits on the reduced ranges.

/// Adding and subtracting it rounds a float of moderate size to the nearest integer, which then sits in the low bits of the sum.
const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
const ROUND_BITS: u32 = ROUND.to_bits();

/// Compiles a loop twice, for the baseline and for AVX2, and picks by the processor. Both give the same bits.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $kind),*) {
            #[inline(always)]
            fn body($($arg: $kind),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $kind),*) {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2, as just asked.
                    return unsafe { wide($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}
pub(crate) use vectorised;

#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum * x + coefficients[i];
    }
    sum
}

/// `e^x`, for `x` clamped to [-87, 88]; relative error below 3e-7.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first exact in few bits.
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let power = f32::from_bits((shifted.to_bits().wrapping_sub(ROUND_BITS) << 23).wrapping_add(1.0f32.to_bits()));
    polynomial(r, [1.0, 1.0, 0.499_999_9, 0.166_664_2, 0.041_668_225, 0.008_374_817, 0.001_383_684_4]) * power
}

/// `ln x` for positive normal `x`.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2))
    let offset = x.to_bits().wrapping_sub(0x3F35_04F3);
    let e = (offset.cast_signed() >> 23) as f32;
    let m = f32::from_bits((offset & 0x007F_FFFF).wrapping_add(0x3F35_04F3)) - 1.0;
    let tail =
        polynomial(m, [-0.499_999_82, 0.333_342_1, -0.250_024_87, 0.199_540_7, -0.165_525_8, 0.149_754_73, -0.144_392_13, 0.087_401_01]);
    m + m * m * tail + e * std::f32::consts::LN_2
}

/// `tanh x`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (exp(2.0 * x) + 1.0)
}

/// The error function.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let x = x.clamp(-3.925, 3.925);
    let u = x * x;
    let top =
        polynomial(u, [std::f32::consts::FRAC_2_SQRT_PI, 0.191_803_6, 0.052_930_687, 0.003_825_692_4, 2.862_545_4e-4, 2.039_006_6e-6]);
    let bottom = polynomial(u, [1.0, 0.503_313_7, 0.114_684_574, 0.015_088_175, 0.001_177_221_6, 3.805_005_3e-5]);
    x * top / bottom
}

/// The exact GELU, `x / 2 * (1 + erf(x / sqrt 2))`.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// `(cos, sin)` of an angle in turns, `|turns|` below 2^20.
#[inline(always)]
pub fn cos_sin_turns(turns: f32) -> (f32, f32) {
    // The angle is a whole number of quarters and a rest of at most an eighth of a turn.
    let shifted = turns * 4.0 + ROUND;
    let quarter = shifted.to_bits();
    let r = turns - (shifted - ROUND) * 0.25;
    let w = r * r;
    let sin = r * polynomial(w, [std::f32::consts::TAU, -41.341_663, 81.592_55, -75.402_07]);
    let cos = polynomial(w, [1.0, -19.739_209, 64.939_316, -85.442_85, 59.220_407]);
    let odd = quarter & 1 == 1;
    let (c, s) = if odd { (sin, cos) } else { (cos, sin) };
    // Quarters 1 and 2 have a negative cosine, 2 and 3 a negative sine.
    let cos_sign = (quarter.wrapping_add(1) & 2) << 30;
    let sin_sign = (quarter & 2) << 30;
    (f32::from_bits(c.to_bits() ^ cos_sign), f32::from_bits(s.to_bits() ^ sin_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest difference of `ours` and `exact` over `[low, high]`, relative to `scale`.
    fn worst(low: f64, high: f64, ours: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, scale: impl Fn(f64) -> f64) -> f64 {
        let steps = 200_000;
        let points = (0..=steps).map(|i| (low + (high - low) * f64::from(i) / f64::from(steps)) as f32);
        points.map(|x| (f64::from(ours(x)) - exact(f64::from(x))).abs() / scale(f64::from(x))).fold(0.0, f64::max)
    }

    #[test]
    fn exponential_and_logarithm() {
        assert!(worst(-87.0, 88.0, exp, f64::exp, f64::exp) < 3e-7);
        assert!(worst(1e-9, 4.0, ln, f64::ln, |x| x.ln().abs().max(1.0)) < 1e-6);
        assert!(worst(-12.0, 12.0, tanh, f64::tanh, |_| 1.0) < 1e-6);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e9) >= 0.0 && exp(1e9).is_finite());
    }

    #[test]
    fn angles() {
        let angle = |turns: f64| turns * std::f64::consts::TAU;
        assert!(worst(-3.0, 3.0, |x| cos_sin_turns(x).0, |x| angle(x).cos(), |_| 1.0) < 1e-6);
        assert!(worst(-3.0, 3.0, |x| cos_sin_turns(x).1, |x| angle(x).sin(), |_| 1.0) < 1e-6);
    }

    #[test]
    fn error_function_and_gelu() {
        // erf by its series and, further out, its continued fraction.
        let exact = |x: f64| {
            let (mut term, mut sum) = (x, x);
            for n in 1..200 {
                term *= -x * x / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            sum * std::f64::consts::FRAC_2_SQRT_PI
        };
        assert!(worst(-4.0, 4.0, erf, exact, |_| 1.0) < 1e-6);
        assert_eq!(erf(40.0), erf(4.0));
        let exact_gelu = |x: f64| 0.5 * x * (1.0 + exact(x * std::f64::consts::FRAC_1_SQRT_2));
        assert!(worst(-5.0, 5.0, gelu, exact_gelu, |x| x.abs().max(1.0)) < 1e-6);
    }
}
