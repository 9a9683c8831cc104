//! Clocks and temperatures.

/// A `scaling_cur_freq`, in kHz, as hertz.
pub fn parse_hertz(text: &str) -> Option<f64> {
    let kilohertz: u32 = text.trim().parse().ok()?;
    (kilohertz > 0).then(|| f64::from(kilohertz) * 1e3)
}

/// A temperature in 1/1000 °C; what no device survives is not believed.
pub fn parse_celsius(text: &str) -> Option<f64> {
    let thousandths: i32 = text.trim().parse().ok()?;
    (-50_000..=200_000).contains(&thousandths).then(|| f64::from(thousandths) * 1e-3)
}
